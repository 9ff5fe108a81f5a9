#pragma once

#include "planner/one_host/moment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lockstep {

/// Operations an iteration of `lockstep bench`, so that what a barrier adds (ranks leave it one after the other) is
/// little beside them.
inline std::size_t operations_a_batch(double seconds_an_operation) {
  constexpr double kLongEnough = 200e-6;  // some tens of times what ranks that share cores need to leave a barrier
  constexpr double kMost = 100;
  return static_cast<std::size_t>(
      std::clamp(std::ceil(kLongEnough / std::max(seconds_an_operation, 1e-9)), 1.0, kMost));
}

/// What one operation costs as it is timed: one of a batch that begins at a barrier. In a long one it is as in those
/// that follow each other for ever, of which `steady` are run by `run(Length)`, and `seconds` are the prices.
template <class Costs, class Run>
Costs as_timed(const Length& steady, const Costs& seconds, const Run& run) {
  constexpr std::size_t kLong = 8;
  const Costs costs = run(steady);
  const std::size_t batch = operations_a_batch(costs * seconds);
  return batch > kLong ? costs : run(Length{1, static_cast<int>(batch), true});
}

}  // namespace lockstep
