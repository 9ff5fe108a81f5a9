#pragma once

#include "runtime/plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lockstep {

/// Whose turn it is in the staging area of a group's ranks. The area is cut into slots that the pieces of operations
/// use one after the other, on every rank alike; so a rank need not wait at the end of an operation for whoever still
/// reads from it, only before it writes there again, when that is long past.
class StagingRing {
 public:
  static constexpr std::size_t kSlots = 2;

  /// How often each slot was used by operations of one kind: of one plan, which lay what they stage at the same places
  /// (staging_rotations.h), whatever their size. What others use between them they leave where it was, so that it is
  /// counted on.
  using Turns = std::array<std::uint64_t, kSlots>;

  /// Who reads a slot until when: the readers of `plan`, whose piece began at `first_tick` of operation `sequence`.
  struct Use {
    const Plan* plan = nullptr;  ///< null: never used
    Turns* turns = nullptr;      ///< of its kind
    std::uint64_t sequence = 0;
    std::uint32_t first_tick = 0;

    /// What this one leaves to wait for, before an operation by the plan `next` writes, of the kind with those turns.
    const std::vector<Plan::Wait>& waits_before(const Plan& next, const Turns& next_turns) const {
      if (&next_turns == turns) return plan->after_turning;
      return next.rotations.empty() ? plan->after : plan->after_all;
    }
  };

  explicit StagingRing(std::size_t bytes) : slot_bytes_(bytes / kSlots / kAlignment * kAlignment) {}

  std::size_t slot_bytes() const { return slot_bytes_; }
  /// Where the next slot begins in the area of each rank.
  std::size_t offset_bytes() const { return next_ % kSlots * slot_bytes_; }
  /// What must be over before the next slot is written.
  const Use& previous_use() const { return uses_[next_ % kSlots]; }
  /// The turns of operations by this plan, of which each place takes so many bytes. Stays where it is.
  Turns& turns_of(const Plan& plan, std::size_t place_bytes) { return turns_[{&plan, place_bytes}]; }
  /// Takes the next slot, and says which turn of its kind it is. All ranks say the same, for they run the same
  /// operations one after the other.
  std::uint64_t take(const Use& use) {
    const std::size_t slot = next_++ % kSlots;
    uses_[slot] = use;
    return (*use.turns)[slot]++;
  }
  /// Takes the same slot once more, for the operation's next piece.
  std::uint64_t take_again(std::uint32_t first_tick) {
    const std::size_t slot = (next_ - 1) % kSlots;
    uses_[slot].first_tick = first_tick;
    return (*uses_[slot].turns)[slot]++;
  }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::size_t slot_bytes_;
  std::size_t next_ = 0;
  std::array<Use, kSlots> uses_;
  std::map<std::pair<const Plan*, std::size_t>, Turns> turns_;
};

}  // namespace lockstep
