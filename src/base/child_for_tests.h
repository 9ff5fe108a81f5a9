#pragma once

#include "base/file_descriptor.h"
#include "base/sanitizers_for_tests.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <optional>
#include <string>

namespace lockstep::testing_support {

inline constexpr const char* kWhyTasksNotDenied =
    "only root may become a user of whom nothing else runs, and ThreadSanitizer has a thread of its own";

/// What `call` returns, or the sentence of what it throws, in a child process that `prepare` has changed; none where
/// that returned false.
template <class Prepare, class Call>
std::optional<std::string> said_in_child(const Prepare& prepare, const Call& call) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_system_error("Making a pipe");
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw_system_error("Starting a process");
  if (child == 0) {
    std::string said;
    if (prepare()) {
      try {
        said = call();
      } catch (const std::exception& error) {
        said = error.what();
      }
    }
    ::_exit(::write(write_end.get(), said.data(), said.size()) < 0 ? 1 : 0);
  }
  write_end.reset();
  std::string said;
  std::array<char, 256> part{};
  for (ssize_t got = 0; (got = ::read(read_end.get(), part.data(), part.size())) > 0;) {
    said.append(part.data(), static_cast<std::size_t>(got));
  }
  ::waitpid(child, nullptr, 0);
  return said.empty() ? std::nullopt : std::optional(said);
}

/// The same in a child as it is; none where that hangs.
template <class Call>
std::optional<std::string> said_in_child(const Call& call) {
  constexpr unsigned kLong = 20;  // seconds
  return said_in_child([] { return ::alarm(kLong) == 0; }, call);
}

/// The same in a child whose user may start `more` threads and processes besides; none where this process may not
/// become another user, or ThreadSanitizer has a thread of its own.
template <class Call>
std::optional<std::string> said_with_few_tasks(rlim_t more, const Call& call) {
  const auto become_another = [more] {
    const rlimit limit{1 + more, 1 + more};
    return !kUnderThreadSanitizer && ::setuid(1'000'000 + static_cast<uid_t>(::getpid())) == 0 &&
           ::setrlimit(RLIMIT_NPROC, &limit) == 0;
  };
  return said_in_child(become_another, call);
}

}  // namespace lockstep::testing_support
