#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep {

/// Monotonic, the same for every process of a host.
using Clock = std::chrono::steady_clock;

/// Microseconds of the monotonic clock, the unit of traces.
std::int64_t now_us();

/// Milliseconds since `start`.
double milliseconds_since(Clock::time_point start);

/// Until then, rounded up, for poll: 0 if it is over.
int milliseconds_until(Clock::time_point deadline);

}  // namespace lockstep
