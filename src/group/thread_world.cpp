#include "group/thread_world.h"

#include "group/group_state.h"
#include "planner/calibration/in_force.h"
#include "transport/shm/thread_host.h"
#include "transport/tcp/thread_host.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace lockstep::detail {

namespace {

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

std::vector<std::unique_ptr<Engine>> engines_over_tcp(int ranks) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (tcp::Host& host : tcp::thread_hosts(ranks)) engines.push_back(make_engine(tcp::create(std::move(host))));
  return engines;
}

std::vector<std::unique_ptr<Engine>> engines_in_shared_memory(int ranks) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (shm::Host& host : shm::thread_hosts(ranks)) engines.push_back(make_engine(shm::create(std::move(host))));
  return engines;
}

/// Tells those who run that these ranks never come.
void leave_at_once(std::span<const std::unique_ptr<Engine>> engines, const Error& why) {
  for (const auto& engine : engines) {
    const int rank = engine->rank();
    engine->fail({ErrorCode::kPeerLeft, fmt::format("rank {} left the group: {}", rank, why.what()), {.peer = rank}});
  }
}

/// Runs each in a thread, and returns when all that could be started have ended.
void run_in_threads(std::vector<std::unique_ptr<Engine>>& engines,
                    const std::function<void(std::unique_ptr<Engine>& engine)>& run, FirstFailure& failure) {
  std::vector<std::jthread> threads;
  threads.reserve(engines.size());
  const auto give_up = [&](const std::string& reason) {
    const Error why(ErrorCode::kTransport, fmt::format("Thread {} of {} could not be started: {}", threads.size() + 1,
                                                       engines.size(), reason));
    failure.keep(std::make_exception_ptr(why));
    leave_at_once(std::span(engines).subspan(threads.size()), why);
  };
  try {
    for (auto& engine : engines) threads.emplace_back(run, std::ref(engine));
  } catch (const std::system_error& error) {
    give_up(fmt::format("{}. Ask for fewer, or let this user have more (ulimit -u).", error.code().message()));
  } catch (const std::bad_alloc&) {
    give_up("there is no memory for it.");
  }
}

void run_following(const JobCalibration& calibration, std::vector<std::unique_ptr<Engine>> engines,
                   const std::function<void(World&)>& f) {
  FirstFailure failure;
  const auto run_in = [&](World& world, GroupState& state) {
    try {
      f(world);
    } catch (const std::exception& error) {
      failure.keep(std::current_exception());
      state.abandon(error.what());
    } catch (...) {
      failure.keep(std::current_exception());
      state.abandon("it threw something that is no std::exception");
    }
  };
  const auto run = [&](std::unique_ptr<Engine>& engine) {
    try {
      Identity identity{.rank = engine->rank(), .size = engine->size(), .job = {}};
      identity.local_rank = identity.rank;
      identity.local_size = identity.size;
      const auto state = std::make_shared<GroupState>(identity, std::move(engine), calibration);
      World world = WorldMaker::make(state);
      run_in(world, *state);
    } catch (...) {
      failure.keep(std::current_exception());  // a world that could not be made
    }
  };
  run_in_threads(engines, run, failure);
  failure.rethrow();
}

}  // namespace

World WorldMaker::make(std::shared_ptr<GroupState> state) { return World(std::move(state)); }

void run_threads_over(std::vector<std::unique_ptr<Engine>> engines, const std::function<void(World&)>& f) {
  const JobCalibration calibration = engines.size() > 1 ? job_calibration() : JobCalibration();
  run_following(calibration, std::move(engines), f);
}

void run_threads_over_tcp(int ranks, const std::function<void(World&)>& f) {
  run_threads_over(engines_over_tcp(ranks), f);
}

void run_threads_uncalibrated(int ranks, Medium medium, const std::function<void(World&)>& f) {
  run_following({}, medium == Medium::kTcp ? engines_over_tcp(ranks) : engines_in_shared_memory(ranks), f);
}

}  // namespace lockstep::detail

namespace lockstep {

void run_threads(int n, const std::function<void(World&)>& f) {
  if (n < 1)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("A world of {} threads was asked for; at least 1.", n));
  detail::run_threads_over(detail::engines_in_shared_memory(n), f);
}

}  // namespace lockstep
