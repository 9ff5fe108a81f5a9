// The machine as it is seen without hwloc: how many CPUs there are, and no pinning.
#include "topology/cpu_quota.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace lockstep {

AvailableCpus available_cpus() {
  cpu_set_t mask;
  // The call fails only on machines with more CPUs than a cpu_set_t holds (1024).
  const int allowed = ::sched_getaffinity(0, sizeof mask, &mask) == 0
                          ? CPU_COUNT(&mask)
                          : static_cast<int>(std::thread::hardware_concurrency());
  const int cpus = std::max(1, std::min(allowed, cpu_quota().value_or(allowed)));
  return {cpus, cpus};
}

std::vector<CpuSet> distribute_cpus(int) { return {}; }

std::string describe_topology() {
  return fmt::format("{} CPUs; no pinning: hwloc is not built in (install libhwloc-dev and build again)",
                     available_cpus().threads);
}

}  // namespace lockstep
