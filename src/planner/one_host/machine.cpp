#include "planner/one_host/machine.h"

#include "base/units.h"
#include "topology/caches.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string_view>

namespace lockstep {

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  }
  return "unknown";
}

bool is_about_as_much(double one, double other) {
  constexpr double kOtherwise = 0.1;
  return std::abs(one - other) <= kOtherwise * std::max(one, other);
}

std::array<double, 3> cache_levels(const Machine& machine) {
  return {machine.cache_bytes_first, machine.cache_bytes_a_core, machine.cache_bytes_shared};
}

std::string caches_text(const Machine& machine) {
  const auto [first, a_core, shared] = cache_levels(machine);
  return fmt::format("{}, {} and {}", format_rounded_bytes(first), format_rounded_bytes(a_core),
                     format_rounded_bytes(shared));
}

}  // namespace

std::vector<std::string> differences(const Machine& there, const Machine& here) {
  std::vector<std::string> found;
  const auto differs = [&found](std::string_view what, const auto& of_there, const auto& of_here) {
    found.push_back(fmt::format("{}: {}, here {}", what, of_there, of_here));
  };
  if (there.processor != here.processor) differs("processor", there.processor, here.processor);
  if (there.cores != here.cores) differs("cores", there.cores, here.cores);
  if (there.threads != here.threads) differs("threads", there.threads, here.threads);
  if (!is_about_as_much(there.memory_bytes, here.memory_bytes)) {
    differs("memory", format_rounded_bytes(there.memory_bytes), format_rounded_bytes(here.memory_bytes));
  }
  if (cache_levels(there) != cache_levels(here)) differs("caches", caches_text(there), caches_text(here));
  return found;
}

bool operator==(const Machine& there, const Machine& here) { return differences(there, here).empty(); }

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
