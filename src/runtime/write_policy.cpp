#include "runtime/write_policy.h"

#include <algorithm>
#include <vector>

namespace lockstep {

namespace {

constexpr std::size_t kUsualShared = std::size_t{32} << 20;
/// A move of less is over before it pays.
constexpr std::size_t kLeast = 2048;

/// Whether each of `targets` lies in the memory of one of the `operands`' ranks, at the same chunk, so that it was read
/// just before.
bool is_read(const std::vector<Plan::Place>& targets, const std::vector<Plan::Place>& operands) {
  return std::all_of(targets.begin(), targets.end(), [&](const Plan::Place& target) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Plan::Place& one) { return one.rank == target.rank; });
  });
}

}  // namespace

std::size_t WritePolicy::most_cached_bytes(const Caches& caches) {
  return (caches.shared_bytes > 0 ? caches.shared_bytes : kUsualShared) / 4 * 5;
}

WritePolicy::WritePolicy(const Caches& caches, bool is_staged, std::size_t bytes)
    : is_staged_(is_staged),
      is_large_(bytes > most_cached_bytes(caches)),
      stages_past_caches_(caches.are_slow_to_take_back),
      asks_early_(caches.are_worth_asking) {}

WritePolicy::Writes WritePolicy::of(const Plan::Move& move, std::size_t bytes) const {
  if (is_large_ && is_seldom_read(move)) return {.past_caches = move.targets.size()};
  if (bytes < kLeast || !move.takes_back) return {};
  const bool stages = stages_past_caches_ && move.targets.front().memory == Plan::Memory::kStaging;
  return {.past_caches = stages ? 1U : 0U, .asks_early = asks_early_};
}

bool WritePolicy::is_seldom_read(const Plan::Move& move) const {
  const bool is_copy = move.operands.size() == 1 && move.targets.size() == 1;
  if (is_copy) return move.targets.front().memory == Plan::Memory::kOutput;
  return !is_staged_ && !is_read(move.targets, move.operands);
}

}  // namespace lockstep
