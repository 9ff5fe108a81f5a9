// The machine as it is seen without hwloc: how many CPUs there are, and no pinning.
#include "topology/cpu_quota.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <climits>

namespace lockstep {

CpuCount available_cpus() {
  cpu_set_t mask;
  // The call fails only on machines with more CPUs than a cpu_set_t holds (1024).
  const bool known = ::sched_getaffinity(0, sizeof mask, &mask) == 0;
  const int cpus = std::min(known ? CPU_COUNT(&mask) : INT_MAX, cpus_within_quota());
  return {cpus, cpus};
}

CpuCount machine_cpus() {
  const int cpus = cpus_within_quota();
  return {cpus, cpus};
}

std::vector<CpuSet> distribute_cpus(int) { return {}; }

std::string describe_topology() {
  return fmt::format("{} CPUs; no pinning: hwloc is not built in (install libhwloc-dev and build again)",
                     available_cpus().threads);
}

}  // namespace lockstep
