#pragma once

#include "group/engine.h"
#include "planner/medium.h"

#include <lockstep/world.h>

#include <functional>
#include <memory>
#include <vector>

namespace lockstep::detail {

class GroupState;

/// Makes Worlds: the one door to their constructor.
class WorldMaker {
 public:
  static World make(std::shared_ptr<GroupState> state);
};

/// What run_threads does, over engines of any kind: one a rank, in their order.
void run_threads_over(std::vector<std::unique_ptr<Engine>> engines, const std::function<void(World&)>& f);

/// The same for who measures, over kSharedMemory or kTcp: the ranks follow no calibration, so that to make a world does
/// not take reading one, which is longer than many a measurement.
void run_threads_uncalibrated(int ranks, Medium medium, const std::function<void(World&)>& f);

/// run_threads() over TCP: threads that talk through sockets on loopback, as processes would.
void run_threads_over_tcp(int ranks, const std::function<void(World&)>& f);

}  // namespace lockstep::detail
