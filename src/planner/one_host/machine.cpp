#include "planner/one_host/machine.h"

#include "topology/caches.h"
#include "topology/cpus.h"

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

}  // namespace

Machine this_machine() {
  // Every group asks, and finding the cores takes milliseconds.
  static const Machine kHere{
      .processor = processor_name(),
      .cores = machine_cpus().cores,  // a rank is bound to a few of them
      .threads = machine_cpus().threads,
      .memory_bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
      .cache_bytes_first = static_cast<double>(cache_bytes(1)),
      .cache_bytes_a_core = static_cast<double>(cache_bytes(2)),
      .cache_bytes_shared = static_cast<double>(cache_bytes(3))};
  return kHere;
}

WritePolicy::Caches caches_of(const Machine& machine) {
  return {.shared_bytes = static_cast<std::size_t>(machine.cache_bytes_shared),
          .are_slow_to_take_back = machine.processor.starts_with("AMD"),
          .are_worth_asking = machine.processor.starts_with("Intel")};
}

double most_cached_bytes(const Machine& machine, int ranks) {
  return static_cast<double>(WritePolicy::most_cached_bytes(caches_of(machine))) / ranks;
}

}  // namespace lockstep
