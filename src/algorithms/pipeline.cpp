#include "algorithms/pieces.h"
#include "base/refuse.h"
#include "schedule/ranges.h"
#include "schedule/segmented.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace lockstep::algorithm {

namespace {

/// Into how many segments its chunks may be cut, the same on all ranks: also where each has its own part only, in which
/// a chunk may come from or go to every other.
std::int64_t most_segments(const Schedule& schedule, bool is_one_ranks) {
  const auto steps = static_cast<std::int64_t>(schedule.steps.size());
  const std::int64_t size =
      is_one_ranks ? std::int64_t{schedule.ranks} * schedule.chunks : std::max<std::int64_t>(1, transfers_of(schedule));
  const std::int64_t most =
      std::min({std::int64_t{kMostChunks} / schedule.chunks, kMostSteps + 1 - steps, kMostTransfersInSegments / size});
  return std::max<std::int64_t>(1, most);
}

}  // namespace

/// Pipeline: the segments of a chunk follow each other through the algorithm's steps, so that a rank passes the first
/// on while others are on their way to it (schedule/segmented.h). What a chain or a double tree is meant for.
// Cost: of s steps on n bytes K segments make s + K - 1, in which no more is moved than before. How much of it goes at
// the same time is the schedule's affair, so only K = 1 has a closed form, the algorithm's own.
Schedule pipeline(const ScheduleRequest& request, const Algorithm& inner, int segments) {
  const Schedule whole = inner.build(request);
  const std::int64_t most = most_segments(whole, request.only_rank.has_value());
  if (segments > most) {
    refuse(fmt::format("'{}' is cut into at most {} segments on {} ranks; {} are too many.", inner.name, most,
                       request.ranks, segments));
  }
  Schedule schedule = segmented(whole, segments);
  schedule.name = fmt::format("segmented:{}:{}", segments, inner.name);
  return schedule;
}

}  // namespace lockstep::algorithm
