#include "topology/cpu_quota.h"

#include "base/environment.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
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

/// Of a list as the system writes them: 5 of "0-3,8".
std::optional<int> length_of_list(const std::string& list) {
  int length = 0;
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    std::istringstream text(range);
    int first = 0;
    if (!(text >> first)) return std::nullopt;
    int last = first;
    if (text.get() == '-' && !(text >> last)) return std::nullopt;
    length += last - first + 1;
  }
  return length > 0 ? std::optional(length) : std::nullopt;
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

std::optional<int> cpuset_size(const std::filesystem::path& cgroup_root) {
  for (const char* const name : {"cpuset.cpus.effective", "cpuset/cpuset.effective_cpus"}) {
    if (const auto list = read_first<std::string>(cgroup_root / name)) return length_of_list(*list);
  }
  return std::nullopt;
}

int cpus_within_quota(const std::filesystem::path& cgroup_root) {
  const int cpus = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min({cpus, cpu_quota(cgroup_root).value_or(cpus), cpuset_size(cgroup_root).value_or(cpus)});
}

int job_cpus() {
  const auto text = environment(kCpusVariable);
  if (!text) return cpus_within_quota();
  const int cpus = whole_number(kCpusVariable, *text);
  if (cpus > 0) return cpus;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The environment variable {} is '{}'; ranks have 1 CPU or more.", kCpusVariable, *text));
}

}  // namespace lockstep
