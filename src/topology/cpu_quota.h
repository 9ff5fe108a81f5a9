#pragma once

#include <filesystem>
#include <optional>

namespace lockstep {

/// Where the kernel tells of cgroups: the folder in which they are mounted, and the file with those of this process.
struct CgroupFiles {
  std::filesystem::path mount = "/sys/fs/cgroup";
  std::filesystem::path own = "/proc/self/cgroup";
};

/// The number of CPUs' worth of time that this process may use by its cgroup, or by one around that (version 2's
/// cpu.max, version 1's cpu.cfs_quota_us), rounded up; none where there is no limit. A container limited to 2 of 64
/// CPUs sees all 64 but gets the time of 2.
std::optional<int> cpu_quota(const CgroupFiles& files = {});

/// How many logical CPUs this process is confined to by its cgroup, or by one around that (version 2's
/// cpuset.cpus.effective, version 1's cpuset.effective_cpus); none where that is not said. A container confined to 2 of
/// 64 CPUs is told of all 64.
std::optional<int> cpuset_size(const CgroupFiles& files = {});

/// The logical CPUs of the system, or what the cgroup allows if that is less: how many processes can run at a time.
/// The same in each, whichever CPUs it is bound to.
int cpus_within_quota(const CgroupFiles& files = {});

/// How many of them the ranks of this job may use together, the same in each: as the launcher says, who may itself be
/// bound to a few (LOCKSTEP_CPUS); else all. Throws Error (kInvalidArgument) where the variable is no number from 1 on.
int job_cpus();

}  // namespace lockstep
