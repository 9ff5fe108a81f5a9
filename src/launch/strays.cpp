#include "launch/strays.h"

#include "base/environment.h"
#include "base/file_descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

namespace lockstep {

namespace {

/// A process that dies is seen a while longer, and one that starts others must be caught between two.
constexpr int kMostPasses = 50;

/// What a process was started with: "NAME=value" after "NAME=value", each behind a zero. Empty for one that has ended,
/// or is somebody else's.
std::string environment_of(pid_t pid) {
  const FileDescriptor file(::open(fmt::format("/proc/{}/environ", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::string variables(1, '\0');
  if (!file) return variables;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(file.get(), part.data(), part.size())) > 0;) {
    variables.append(part.data(), static_cast<std::size_t>(got));
  }
  return variables;
}

template <class Visit>
void for_each_process(const Visit& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  if (!processes) return;
  while (const dirent* entry = ::readdir(processes.get())) {
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    pid_t pid = 0;
    if (std::from_chars(entry->d_name, end, pid).ptr == end) visit(pid);
  }
}

}  // namespace

Strays::Strays(const std::string& job)
    : mark_(fmt::format("{}{}={}{}", '\0', kJobVariable, job, '\0')), session_(::getsid(0)) {}

void Strays::signal(int signal, std::span<const pid_t> groups) const { signal_all(signal, groups); }

void Strays::kill() const {
  for (int pass = 0; pass < kMostPasses && signal_all(SIGKILL, {}) > 0; ++pass) ::usleep(1000);
}

int Strays::signal_all(int signal, std::span<const pid_t> groups) const {
  int count = 0;
  for_each_process([&](pid_t pid) {
    if (::getsid(pid) != session_ || std::ranges::find(groups, ::getpgid(pid)) != groups.end()) return;
    // Held before it is looked at, so that the signal meets that process and no later one of its number.
    const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process || environment_of(pid).find(mark_) == std::string::npos) return;
    if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) ++count;
  });
  return count;
}

}  // namespace lockstep
