#pragma once

#include "planner/medium.h"
#include "planner/one_host/sample.h"

#include <lockstep/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::bench {

/// What is to be measured: one collective on float32 buffers of so many bytes.
struct Point {
  Collective collective = Collective::kAllReduce;
  std::string algorithm;
  int ranks = 2;
  std::size_t bytes = 0;
  MemoryKind memory = MemoryKind::kRegistered;
};

/// Every algorithm of the collectives on so many ranks at each size; those of more than some thousand transfers are
/// left out.
std::vector<Point> points_at(const std::vector<Collective>& collectives, const std::vector<std::size_t>& sizes,
                             int ranks, MemoryKind memory = MemoryKind::kRegistered);

/// How points are measured.
struct Sampling {
  Medium medium = Medium::kSharedMemory;  ///< or kTcp
  int rounds = 7;                         ///< over all points
  int passes_of_small = 1;                ///< in each round, over those of at most small_bytes, which cost little
  std::size_t small_bytes = std::size_t{8} << 20;    ///< of the buffer
  int more_rounds = 0;                               ///< at most, of a point of which too little is known by then
  double seconds_a_round = 2e-3;                     ///< for each point, but at least three iterations
  std::function<void(int round)> begins_round = {};  ///< told of each, from 0
};

/// Measures points on threads, each bound to a core as the launcher binds processes, that share memory or talk over
/// loopback as processes do; schedules that differ in their names alone once. Operations follow each other in batches,
/// as in `lockstep bench`; an iteration's time is the slowest rank's, a round's the median of its iterations, a point's
/// what its rounds are found to say (readings.h): what other programs add comes and goes within seconds. All that is
/// measured of one size follows each other, so that what comes and goes is no difference between algorithms and numbers
/// of ranks. Where too few rounds say the same of a point, more follow.
std::vector<Sample> take_samples(const Sampling& sampling, const std::vector<Point>& points);

/// Binds this thread as the launcher binds the processes of a job.
void bind_thread(int rank, int ranks);

}  // namespace lockstep::bench
