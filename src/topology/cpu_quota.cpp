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
#include <system_error>
#include <vector>

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

/// Of a cgroup of version 2; of version 1.
std::optional<int> quota_in_2(const std::filesystem::path& cgroup) {
  double quota_us = 0;
  double period_us = 0;
  if (std::ifstream(cgroup / "cpu.max") >> quota_us >> period_us) return cpus_of(quota_us, period_us);
  return std::nullopt;  // "max 100000"
}

std::optional<int> quota_in_1(const std::filesystem::path& cgroup) {
  const auto quota_us = read_first<double>(cgroup / "cpu.cfs_quota_us");
  const auto period_us = read_first<double>(cgroup / "cpu.cfs_period_us");
  return quota_us && period_us ? cpus_of(*quota_us, *period_us) : std::nullopt;
}

std::optional<int> length_of_list_in(const std::filesystem::path& file) {
  const auto list = read_first<std::string>(file);
  return list ? length_of_list(*list) : std::nullopt;
}

/// The path of this process's cgroup in the hierarchy of a controller, as in "4:cpu,cpuacct:/user.slice"; that of
/// version 2, as in "0::/user.slice", for "".
std::filesystem::path own_cgroup(const std::filesystem::path& file, const std::string& controller) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    if (controllers.find(',' + controller + ',') != std::string::npos) return line.substr(second + 1);
  }
  return "/";
}

/// A cgroup's folder below the mount, and those around it. A container's mount may begin at its own cgroup while the
/// path is the host's, and the path of a process outside of the namespace goes up: then it is the mount's root.
std::vector<std::filesystem::path> folders_of(const std::filesystem::path& mount, const std::filesystem::path& cgroup) {
  std::vector<std::filesystem::path> folders{mount};
  for (const std::filesystem::path& name : cgroup.relative_path()) {
    std::error_code ignored;
    if (name == ".." || !std::filesystem::is_directory(folders.back() / name, ignored)) return {mount};
    folders.push_back(folders.back() / name);
  }
  return folders;
}

/// The least that `read` finds in these folders: what a cgroup may use, all within it share.
template <class Read>
std::optional<int> least_in(const std::vector<std::filesystem::path>& folders, const Read& read) {
  std::optional<int> least;
  for (const std::filesystem::path& folder : folders) {
    if (const auto limit = read(folder)) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

}  // namespace

std::optional<int> cpu_quota(const CgroupFiles& files) {
  if (const auto quota = least_in(folders_of(files.mount, own_cgroup(files.own, "")), quota_in_2)) return quota;
  return least_in(folders_of(files.mount / "cpu", own_cgroup(files.own, "cpu")), quota_in_1);
}

std::optional<int> cpuset_size(const CgroupFiles& files) {
  const auto size_in = [](const char* name) {
    return [name](const std::filesystem::path& cgroup) { return length_of_list_in(cgroup / name); };
  };
  const auto folders = folders_of(files.mount, own_cgroup(files.own, ""));
  if (const auto size = least_in(folders, size_in("cpuset.cpus.effective"))) return size;
  return least_in(folders_of(files.mount / "cpuset", own_cgroup(files.own, "cpuset")),
                  size_in("cpuset.effective_cpus"));
}

int cpus_within_quota(const CgroupFiles& files) {
  const int cpus = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min({cpus, cpu_quota(files).value_or(cpus), cpuset_size(files).value_or(cpus)});
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
