#pragma once

#include <filesystem>
#include <optional>

namespace lockstep {

/// The number of CPUs' worth of time that this process's cgroup may use (version 2's cpu.max, version 1's
/// cpu.cfs_quota_us), rounded up; none where there is no limit. A container limited to 2 of 64 CPUs sees all 64 but
/// gets the time of 2.
std::optional<int> cpu_quota(const std::filesystem::path& cgroup_root = "/sys/fs/cgroup");

/// The logical CPUs of the system, or the quota if that is less: how many processes can run at a time. The same in
/// each, whichever CPUs it is bound to.
int cpus_within_quota(const std::filesystem::path& cgroup_root = "/sys/fs/cgroup");

}  // namespace lockstep
