#include "topology/cpu_quota.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace lockstep {

namespace {

std::optional<int> cpus_of(double quota_us, double period_us) {
  if (quota_us <= 0 || period_us <= 0) return std::nullopt;
  return std::max(1, static_cast<int>(std::ceil(quota_us / period_us)));
}

template <class T>
std::optional<T> read_first(const std::filesystem::path& path) {
  std::ifstream file(path);
  T value;
  if (file >> value) return value;
  return std::nullopt;
}

}  // namespace

// Inside a container the root of the mounted hierarchy is the container's own cgroup, which is the case that matters.
std::optional<int> cpu_quota(const std::filesystem::path& cgroup_root) {
  if (std::ifstream file(cgroup_root / "cpu.max"); file) {
    double quota_us = 0;
    double period_us = 0;
    if (file >> quota_us >> period_us) return cpus_of(quota_us, period_us);
    return std::nullopt;  // "max 100000"
  }
  const auto quota_us = read_first<double>(cgroup_root / "cpu" / "cpu.cfs_quota_us");
  const auto period_us = read_first<double>(cgroup_root / "cpu" / "cpu.cfs_period_us");
  if (quota_us && period_us) return cpus_of(*quota_us, *period_us);
  return std::nullopt;
}

int cpus_within_quota(const std::filesystem::path& cgroup_root) {
  const int cpus = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min(cpus, cpu_quota(cgroup_root).value_or(cpus));
}

}  // namespace lockstep
