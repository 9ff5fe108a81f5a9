#include "planner/one_host/machine.h"

#include "base/units.h"
#include "topology/cpus.h"

#include <lockstep/error.h>
#include <unistd.h>

#include <fstream>

namespace lockstep {

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  }
  return "unknown";
}

/// The size of the first core's cache of that level that holds data; 0 if the system does not say.
double cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const auto word = [&](const char* name) {
      std::ifstream file(folder + name);
      std::string text;
      file >> text;
      return text;
    };
    if (word("level") != std::to_string(level) || word("type") == "Instruction") continue;
    std::string size = word("size");  // "2048K"
    if (!size.empty() && size.back() == 'K') size.pop_back();
    try {
      return static_cast<double>(parse_bytes(size + "KiB"));
    } catch (const Error&) {
      return 0;
    }
  }
  return 0;
}

}  // namespace

Machine this_machine() {
  // Every group asks, and finding the cores takes milliseconds.
  static const Machine kHere{
      .processor = processor_name(),
      .cores = machine_cpus().cores,  // a rank is bound to a few of them
      .memory_bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
      .cache_bytes_first = cache_bytes(1),
      .cache_bytes_a_core = cache_bytes(2),
      .cache_bytes_shared = cache_bytes(3)};
  return kHere;
}

WritePolicy::Caches caches_of(const Machine& machine) {
  return {.shared_bytes = static_cast<std::size_t>(machine.cache_bytes_shared),
          .are_slow_to_take_back = machine.processor.starts_with("AMD"),
          .are_worth_asking = machine.processor.starts_with("Intel")};
}

}  // namespace lockstep
