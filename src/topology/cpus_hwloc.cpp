#include "base/units.h"
#include "topology/cpu_quota.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <lockstep/error.h>

#include <algorithm>
#include <climits>
#include <memory>

namespace lockstep {

namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

Topology load_machine() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    throw Error(ErrorCode::kOutOfMemory, "hwloc could not start to read the machine's topology.");
  }
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    throw Error(ErrorCode::kUnsupported, "hwloc could not read the machine's topology; --no-pin does without it.");
  }
  return topology;
}

/// The machine, restricted to the CPUs that this process may run on (taskset, a batch system's cpuset).
Topology load_topology() {
  Topology topology = load_machine();
  const Bitmap allowed(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology.get(), allowed.get(), HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_topology_restrict(topology.get(), allowed.get(), 0);
  }
  return topology;
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(1, hwloc_get_nbobjs_by_type(topology, type));
}

CpuCount count_cpus(hwloc_topology_t topology) {
  const int quota = cpu_quota().value_or(INT_MAX);
  return {std::min(count(topology, HWLOC_OBJ_CORE), quota), std::min(count(topology, HWLOC_OBJ_PU), quota)};
}

}  // namespace

CpuCount available_cpus() { return count_cpus(load_topology().get()); }
CpuCount machine_cpus() { return count_cpus(load_machine().get()); }

std::vector<CpuSet> distribute_cpus(int shares) {
  const Topology topology = load_topology();
  if (shares < 1 || shares > count(topology.get(), HWLOC_OBJ_PU)) return {};
  std::vector<hwloc_cpuset_t> sets(static_cast<std::size_t>(shares));
  hwloc_obj_t root = hwloc_get_root_obj(topology.get());
  if (hwloc_distrib(topology.get(), &root, 1, sets.data(), static_cast<unsigned>(shares), INT_MAX, 0) != 0) return {};
  std::vector<CpuSet> result;
  for (hwloc_cpuset_t raw : sets) {
    const Bitmap set(raw);
    CpuSet& cpus = result.emplace_back();
    for (int cpu = hwloc_bitmap_first(set.get()); cpu >= 0; cpu = hwloc_bitmap_next(set.get(), cpu))
      cpus.push_back(cpu);
  }
  return result;
}

std::string describe_topology() {
  const Topology topology = load_topology();
  const CpuCount cpus = available_cpus();
  const unsigned version = hwloc_get_api_version();
  const auto number = [&](hwloc_obj_type_t type, const char* thing) {
    return counted(static_cast<std::uint64_t>(count(topology.get(), type)), thing);
  };
  std::string text = fmt::format("{}, {}, {}, {}", counted(static_cast<std::uint64_t>(cpus.cores), "core"),
                                 counted(static_cast<std::uint64_t>(cpus.threads), "thread"),
                                 number(HWLOC_OBJ_PACKAGE, "socket"), number(HWLOC_OBJ_NUMANODE, "NUMA node"));
  if (const auto quota = cpu_quota()) text += fmt::format(", limited by the cgroup to {} CPUs", *quota);
  return fmt::format("{}; pinning by hwloc {}.{}.{}", text, version >> 16, version >> 8 & 0xff, version & 0xff);
}

}  // namespace lockstep
