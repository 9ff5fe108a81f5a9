#include "planner/network/pipelined.h"

#include "planner/network/simulate.h"
#include "schedule/segmented.h"

namespace lockstep {

double pipelined_seconds(const Schedule& schedule, double bytes, const Wiring& wiring) {
  constexpr int kMostSegments = 64;
  double fastest = simulate(schedule, bytes, wiring).seconds;
  for (int segments = 2; segments <= kMostSegments; segments *= 2) {
    const double seconds = simulate(segmented(schedule, segments), bytes, wiring).seconds;
    if (seconds >= fastest) break;
    fastest = seconds;
  }
  return fastest;
}

}  // namespace lockstep
