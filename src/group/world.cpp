#include <lockstep/world.h>

#include "base/environment.h"
#include "group/group_state.h"
#include "transport/shm/join.h"
#include "transport/shm/thread_host.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep {

namespace {

shm::Host alone_host() { return std::move(shm::thread_hosts(1).front()); }

shm::Host find_peers(const Identity& identity) {
  if (identity.size == 1) return alone_host();
  if (identity.local_size != identity.size) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("The job has {} ranks of which {} are on this machine; this version works "
                            "on one machine.",
                            identity.size, identity.local_size));
  }
  const auto timeout = environment_duration(kJoinTimeoutVariable, std::chrono::seconds(60));
  return shm::join_processes({.job = identity.job, .rank = identity.rank, .size = identity.size, .timeout = timeout});
}

std::shared_ptr<detail::GroupState> make_state(const Identity& identity, shm::Host host) {
  return std::make_shared<detail::GroupState>(identity, shm::create(std::move(host)));
}

/// The first failure among threads; later ones are usually its consequence.
class FirstFailure {
 public:
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

World World::from_env() {
  const Identity identity = identify_from_environment();
  return World(make_state(identity, find_peers(identity)));
}

World World::alone() { return World(make_state({}, alone_host())); }

int World::local_rank() const { return state_->identity().local_rank; }
int World::local_size() const { return state_->identity().local_size; }

void run_threads(int n, const std::function<void(World&)>& f) {
  if (n < 1)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("A world of {} threads was asked for; at least 1.", n));
  std::vector<shm::Host> hosts = shm::thread_hosts(n);
  FirstFailure failure;
  const auto run_in = [&](World& world) {
    try {
      f(world);
    } catch (const std::exception& error) {
      failure.keep(std::current_exception());
      world.state_->abandon(error.what());
    } catch (...) {
      failure.keep(std::current_exception());
      world.state_->abandon("it threw something that is no std::exception");
    }
  };
  const auto run = [&](int rank) {
    try {
      const Identity identity{.rank = rank, .size = n, .local_rank = rank, .local_size = n, .job = {}};
      World world(make_state(identity, std::move(hosts[static_cast<std::size_t>(rank)])));
      run_in(world);
    } catch (...) {
      failure.keep(std::current_exception());  // a world that could not be made
    }
  };
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(n));
  for (int rank = 0; rank < n; ++rank) threads.emplace_back(run, rank);
  threads.clear();
  failure.rethrow();
}

}  // namespace lockstep
