#pragma once

#include "schedule/schedule.h"

#include <cstdint>

namespace lockstep::conformance {

inline std::uint64_t hash_of(int step, const Transfer& transfer) {
  std::uint64_t hash = 0;
  for (const int part : {step, static_cast<int>(transfer.kind), transfer.chunk, transfer.from, transfer.to}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

/// The same for a schedule and for what ranks record of it, in whatever order.
inline std::uint64_t hash_of(const Schedule& schedule) {
  std::uint64_t sum = 0;
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Transfer& transfer : schedule.steps[step]) sum += hash_of(static_cast<int>(step), transfer);
  }
  return sum;
}

}  // namespace lockstep::conformance
