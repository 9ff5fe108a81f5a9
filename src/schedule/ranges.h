#pragma once

#include "schedule/refusal.h"
#include "schedule/schedule.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace lockstep {

/// The largest schedules that are proved or read: bounds on what a stranger's numbers can make us allocate.
inline constexpr int kMostRanks = 1024;
inline constexpr int kMostChunks = 1 << 16;
inline constexpr int kMostSteps = 1 << 16;
inline constexpr int kMostRanksTimesChunks = 1 << 20;
inline constexpr int kMostRanksTimesSteps = 1 << 22;

/// Of a composition on hosts, which may run though it has more chunks than are proved: where hosts are alike it has
/// four a rank at most (two a rank of a host, each cut into two a host, as bidirectional_ring's).
constexpr std::int64_t most_chunks_on_hosts(std::int64_t ranks) {
  return std::max(kMostRanksTimesChunks / ranks, 4 * ranks);
}

/// What is out of range in a schedule, if anything is: must hold before anything else is done with one.
std::optional<Refusal> check_ranges(const Schedule& schedule);

/// Its parts, for a schedule that is being read, each with those before it in range: the number of ranks; that of
/// chunks; these and the root; the number of steps; one transfer of a step.
std::optional<Refusal> check_ranks(const Schedule& schedule);
std::optional<Refusal> check_chunks(const Schedule& schedule);
std::optional<Refusal> check_shape(const Schedule& schedule);
std::optional<Refusal> check_step_count(const Schedule& schedule);
std::optional<Refusal> check_transfer(const Schedule& schedule, int step, const Transfer& transfer);

}  // namespace lockstep
