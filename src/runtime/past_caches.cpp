#include "runtime/past_caches.h"

#include <algorithm>
#include <vector>

namespace lockstep {

namespace {

constexpr std::size_t kUsualShared = std::size_t{32} << 20;
/// A move of less is over before it pays.
constexpr std::size_t kLeastStaged = 2048;

/// Whether each of `targets` lies in the memory of one of the `operands`' ranks, at the same chunk, so that it was read
/// just before.
bool is_read(const std::vector<Plan::Place>& targets, const std::vector<Plan::Place>& operands) {
  return std::all_of(targets.begin(), targets.end(), [&](const Plan::Place& target) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Plan::Place& one) { return one.rank == target.rank; });
  });
}

bool is_staged_in_one_place(const Plan::Place& place) {
  return place.memory == Plan::Memory::kStaging && !place.seat.rotates();
}

}  // namespace

PastCaches::PastCaches(const Caches& caches, bool is_staged, std::size_t bytes)
    : is_staged_(is_staged),
      is_large_(bytes > (caches.shared_bytes > 0 ? caches.shared_bytes : kUsualShared) / 2 * 3),
      stages_past_them_(caches.are_slow_to_take_back) {}

std::size_t PastCaches::targets_of(const Plan::Move& move, std::size_t bytes) const {
  if (is_large_ && is_seldom_read(move)) return move.targets.size();
  return stages_past_them_ && bytes >= kLeastStaged && is_staged_in_one_place(move.targets.front()) ? 1 : 0;
}

bool PastCaches::is_seldom_read(const Plan::Move& move) const {
  const bool is_copy = move.operands.size() == 1 && move.targets.size() == 1;
  if (is_copy) return move.targets.front().memory == Plan::Memory::kOutput;
  return !is_staged_ && !is_read(move.targets, move.operands);
}

}  // namespace lockstep
