#include <lockstep/world.h>

#include "base/clock.h"
#include "base/environment.h"
#include "group/group_state.h"
#include "group/placement.h"
#include "group/tcp_request.h"
#include "group/thread_world.h"
#include "group/transport_choice.h"
#include "planner/calibration/in_force.h"
#include "topology/cpu_quota.h"
#include "topology/host_id.h"
#include "transport/mpi/mpi_transport.h"
#include "transport/shm/join.h"
#include "transport/transports.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

using std::chrono::milliseconds;

milliseconds join_timeout() { return environment_duration(kJoinTimeoutVariable, std::chrono::seconds(60)); }

milliseconds left_of_join_timeout(Clock::time_point begun) {
  const auto gone = std::chrono::duration_cast<milliseconds>(Clock::now() - begun);
  return std::max(join_timeout() - gone, milliseconds(1));
}

/// Who does not come may be elsewhere: that all are here is the launcher's word.
shm::Host join_on_one_host(const Identity& identity) {
  try {
    return shm::join_processes(
        {.job = identity.job, .rank = identity.rank, .size = identity.size, .timeout = join_timeout()});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kTimeout) throw;
    throw Error(error.code(),
                fmt::format("{} All {} ranks were expected on this machine, in one network namespace, because {}; if "
                            "they are not, or shared memory does not work for one of them, set {} to tcp.",
                            error.what(), identity.size, identity.local_size_from, kTransportVariable),
                error.context());
  }
}

std::unique_ptr<detail::Engine> join_over(TransportKind kind, const Identity& identity) {
  switch (kind) {
    case TransportKind::kMpi:
      return detail::make_engine(mpi::create(identity.rank, identity.size, join_timeout()), Medium::kMpi);
    case TransportKind::kTcp:
      return detail::make_engine(tcp::create(tcp::join_processes(tcp_request(identity, environment))));
    case TransportKind::kSharedMemory: break;
  }
  return detail::make_engine(shm::create(join_on_one_host(identity)));
}

/// Who does not come may be where something better works.
std::unique_ptr<detail::Engine> join(const Identity& identity) {
  const std::string asked = environment(kTransportVariable).value_or("auto");
  if (identity.size == 1) {
    find_transport(asked, named_transports());  // a name that is none should not wait for more ranks to be found
    return detail::make_lone_engine();
  }
  const TransportChoice choice = choose_transport(asked, identity, named_transports());
  try {
    return join_over(choice.kind, identity);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kTimeout || choice.passed_over.empty()) throw;
    throw Error(error.code(),
                fmt::format("{} This rank passed over what others may have taken; set {} alike for all.{}",
                            error.what(), kTransportVariable, choice.passed_over),
                error.context());
  }
}

/// All have joined: a rank that fails from here on tells the others why.
detail::Surroundings meet(detail::Engine& engine, std::uint64_t calibration, Clock::time_point begun) {
  try {
    const std::string host = host_id();
    const detail::Whereabouts own{.host = host, .calibration = calibration, .cores = job_cpus()};
    return detail::tell_whereabouts(engine, own, left_of_join_timeout(begun));
  } catch (const Error& error) {
    engine.fail(error);
    throw;
  }
}

}  // namespace

World World::from_env() {
  const auto begun = Clock::now();
  Identity identity = identify_from_environment();
  auto engine = join(identity);
  JobCalibration calibration;
  if (identity.size > 1) {
    calibration = job_calibration();
    detail::Surroundings all = meet(*engine, calibration.digest, begun);
    identity.hosts = std::move(all.placement);
    identity.cores = std::move(all.cores);
    if (!all.same_calibration) calibration = {.calibration = nullptr, .fault = "ranks follow different calibrations"};
  }
  return detail::WorldMaker::make(
      std::make_shared<detail::GroupState>(std::move(identity), std::move(engine), std::move(calibration)));
}

World World::alone() {
  return detail::WorldMaker::make(std::make_shared<detail::GroupState>(Identity(), detail::make_lone_engine()));
}

int World::local_rank() const { return state_->identity().local_rank; }
int World::local_size() const { return state_->identity().local_size; }

}  // namespace lockstep
