#include "tests/conformance/forked_ranks.h"

#include "transport/shm/join.h"
#include "transport/shm/thread_host.h"
#include "transport/tcp/join.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace lockstep::conformance {

namespace {

constexpr std::chrono::seconds kJoinTimeout{30};

/// A number that no other job of this process has.
int next_number() {
  static int number = 0;
  return ++number;
}

}  // namespace

ForkedRanks::ForkedRanks(int ranks, const std::function<int(int)>& body) {
  std::fflush(nullptr);  // or each child prints again what stands in our buffers
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid != 0) {
      pids_.push_back(pid);
      continue;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 2;
    try {
      code = body(rank);
    } catch (const std::exception& error) {
      std::printf("rank %d: %s\n", rank, error.what());
    }
    std::fflush(nullptr);
    ::_exit(code);
  }
}

ForkedRanks::~ForkedRanks() {
  for (const pid_t pid : pids_) {
    if (pid > 0) ::kill(pid, SIGKILL);
  }
  for (const pid_t pid : pids_) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
  }
}

int ForkedRanks::wait(int rank) {
  pid_t& pid = pids_.at(static_cast<std::size_t>(rank));
  int status = 0;
  ::waitpid(pid, &status, 0);
  pid = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

Meeting::Meeting(Medium medium, int ranks)
    : medium_(medium),
      ranks_(ranks),
      job_("conformance-" + std::to_string(::getpid()) + "-" + std::to_string(next_number())) {
  if (medium_ == Medium::kTcp) port_ = hold_port();
}

std::unique_ptr<Transport> Meeting::shared_memory(int rank) const {
  if (ranks_ == 1) return shm::create(std::move(shm::thread_hosts(1).front()));
  return shm::create(shm::join_processes(
      {.job = job_, .rank = rank, .size = ranks_, .timeout = std::chrono::milliseconds(kJoinTimeout)}));
}

std::unique_ptr<MessageTransport> Meeting::tcp(int rank) const {
  return tcp::create(tcp::join_processes({.job = job_,
                                          .rank = rank,
                                          .size = ranks_,
                                          .here = {rank, ranks_},
                                          .port = port_.number,
                                          .listen_on = {},
                                          .secret = {},
                                          .timeout = std::chrono::milliseconds(kJoinTimeout)}));
}

std::unique_ptr<detail::Engine> Meeting::engine(int rank) const {
  return medium_ == Medium::kTcp ? detail::make_engine(tcp(rank)) : detail::make_engine(shared_memory(rank));
}

}  // namespace lockstep::conformance
