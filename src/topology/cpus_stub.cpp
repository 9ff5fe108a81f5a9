// The machine as it is seen without hwloc: how many CPUs there are, and no pinning.
#include "topology/cpu_quota.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace lockstep {

namespace {

CpuCount within_quota(int cpus) {
  cpus = std::max(1, std::min(cpus, cpu_quota().value_or(cpus)));
  return {cpus, cpus};
}

int online_cpus() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace

CpuCount available_cpus() {
  cpu_set_t mask;
  // The call fails only on machines with more CPUs than a cpu_set_t holds (1024).
  return within_quota(::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : online_cpus());
}

CpuCount machine_cpus() { return within_quota(online_cpus()); }

std::vector<CpuSet> distribute_cpus(int) { return {}; }

std::string describe_topology() {
  return fmt::format("{} CPUs; no pinning: hwloc is not built in (install libhwloc-dev and build again)",
                     available_cpus().threads);
}

}  // namespace lockstep
