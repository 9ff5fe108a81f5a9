#pragma once

#include "runtime/plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// Whose turn it is in the staging area of a group's ranks. The area is cut into slots that the pieces of operations
/// use one after the other, on every rank alike; so a rank need not wait at the end of an operation for whoever still
/// reads from it, only before it writes there again, when that is long past.
class StagingRing {
 public:
  static constexpr std::size_t kSlots = 2;

  /// Who reads a slot until when: the readers of `plan`, whose piece began at `first_tick` of operation `sequence`.
  struct Use {
    const Plan* plan = nullptr;  ///< null: never used
    std::uint64_t sequence = 0;
    std::uint32_t first_tick = 0;
    std::uint64_t fingerprint = 0;  ///< of the operation
    bool has_root = false;          ///< two ranks may both take themselves for it
    std::uint64_t turn = 0;         ///< so many uses alike came before it, one after the other (staging_rotations.h)

    /// What this one leaves to wait for, before `next` writes.
    const std::vector<Plan::Wait>& waits_before(std::uint64_t next) const {
      return next == fingerprint ? plan->after_turning : plan->after;
    }
  };

  explicit StagingRing(std::size_t bytes) : slot_bytes_(bytes / kSlots / kAlignment * kAlignment) {}

  std::size_t slot_bytes() const { return slot_bytes_; }
  /// Where the next slot begins in the area of each rank.
  std::size_t offset_bytes() const { return next_ % kSlots * slot_bytes_; }
  /// What must be over before the next slot is written.
  const Use& previous_use() const { return uses_[next_ % kSlots]; }
  /// Takes the next slot, and says which turn it is: one further on where the use before was of an operation alike,
  /// else the first. All ranks say the same, for they run the same operations one after the other.
  std::uint64_t take(Use use) {
    Use& slot = uses_[next_++ % kSlots];
    use.turn = slot.plan != nullptr && use.fingerprint == slot.fingerprint ? slot.turn + 1 : 0;
    slot = use;
    return slot.turn;
  }
  /// Takes the same slot once more, for the operation's next piece.
  std::uint64_t take_again(std::uint32_t first_tick) {
    Use& slot = uses_[(next_ - 1) % kSlots];
    slot.first_tick = first_tick;
    return ++slot.turn;
  }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::size_t slot_bytes_;
  std::size_t next_ = 0;
  std::array<Use, kSlots> uses_;
};

}  // namespace lockstep
