#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// Logical CPUs by the operating system's numbers, ascending.
using CpuSet = std::vector<int>;

struct CpuCount {
  int cores = 1;    ///< physical cores (logical CPUs where hwloc is not built in)
  int threads = 1;  ///< logical CPUs: more than `cores` where cores are hyperthreaded
};
/// What this process may use of the machine: its affinity mask and its cgroup's quota are respected.
CpuCount available_cpus();
/// What all processes here may use together: the same in each, whichever CPUs it is bound to. The cgroup's quota is
/// respected.
CpuCount machine_cpus();

/// The available CPUs in `shares` contiguous parts whose cores share caches as far as possible (hwloc_distrib), the
/// i-th for the i-th process of this host. Empty if there are more shares than CPUs, or if this build has no hwloc:
/// then nothing should be bound.
std::vector<CpuSet> distribute_cpus(int shares);

/// The CPUs that each rank of a job here is to be bound to: a share of its own or, where there are more ranks than
/// CPUs, one that neighbours share. An empty set: it should not be bound.
std::vector<CpuSet> deal_cpus(int ranks);

/// One line for people: "2 cores, 2 threads; pinning by hwloc 2.9.0".
std::string describe_topology();

}  // namespace lockstep
