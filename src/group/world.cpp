#include <lockstep/world.h>

#include "base/environment.h"
#include "group/group_state.h"
#include "group/placement.h"
#include "group/tcp_request.h"
#include "group/thread_world.h"
#include "planner/in_force.h"
#include "topology/host_id.h"
#include "transport/mpi/library.h"
#include "transport/mpi/mpi_transport.h"
#include "transport/shm/join.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

enum class Kind { kSharedMemory, kTcp, kMpi };

Kind kind_for(const Identity& identity) {
  const std::string asked = environment(kTransportVariable).value_or("auto");
  const bool one_host = identity.local_size == identity.size;
  if (asked == "auto" && one_host) return Kind::kSharedMemory;
  if (asked == "auto") return identity.by_mpi && mpi::is_there() ? Kind::kMpi : Kind::kTcp;
  if (asked == "tcp") return Kind::kTcp;
  if (asked == "mpi") return Kind::kMpi;
  if (asked != "shm") {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} is '{}'; it takes auto, shm, tcp or mpi.", kTransportVariable, asked));
  }
  if (!one_host) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("{} is 'shm', but of the job's {} ranks only {} are on this machine; take tcp, mpi or auto.",
                    kTransportVariable, identity.size, identity.local_size));
  }
  return Kind::kSharedMemory;
}

std::chrono::milliseconds join_timeout() {
  return environment_duration(kJoinTimeoutVariable, std::chrono::seconds(60));
}

std::unique_ptr<detail::Engine> join(const Identity& identity) {
  if (identity.size == 1) return detail::make_lone_engine();
  const Kind kind = kind_for(identity);
  if (kind == Kind::kMpi)
    return detail::make_engine(mpi::create(identity.rank, identity.size, join_timeout()), Medium::kMpi);
  if (kind == Kind::kTcp) {
    return detail::make_engine(tcp::create(tcp::join_processes(tcp_request(identity, environment))));
  }
  return detail::make_engine(shm::create(shm::join_processes(
      {.job = identity.job, .rank = identity.rank, .size = identity.size, .timeout = join_timeout()})));
}

}  // namespace

World World::from_env() {
  Identity identity = identify_from_environment();
  auto engine = join(identity);
  JobCalibration calibration;
  if (identity.size > 1) {
    const std::string host = host_id();
    calibration = job_calibration();
    const auto [placement, same] =
        detail::tell_whereabouts(*engine, {.host = host, .calibration = calibration.digest}, join_timeout());
    identity.hosts = placement;
    if (!same) calibration = {.calibration = nullptr, .fault = "ranks follow different calibrations"};
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
