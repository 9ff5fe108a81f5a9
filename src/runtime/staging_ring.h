#pragma once

#include "runtime/plan.h"

#include <array>
#include <cstddef>
#include <cstdint>

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
    std::uint64_t fingerprint = 0;  ///< of the operation; 0: it is like no other
    bool has_root = false;          ///< two ranks may both take themselves for it
    bool turned = false;            ///< twins lie in each other's places (staging_twins.h)
  };

  explicit StagingRing(std::size_t bytes) : slot_bytes_(bytes / kSlots / kAlignment * kAlignment) {}

  std::size_t slot_bytes() const { return slot_bytes_; }
  /// Where the next slot begins in the area of each rank.
  std::size_t offset_bytes() const { return next_ % kSlots * slot_bytes_; }
  /// What must be over before the next slot is written.
  const Use& previous_use() const { return uses_[next_ % kSlots]; }
  /// Takes the next slot, and says whether this use is turned: where the one before was of an operation alike, it is
  /// the other way round. All ranks say the same, for they run the same operations one after the other.
  bool take(Use use) {
    Use& slot = uses_[next_++ % kSlots];
    use.turned = use.fingerprint != 0 && use.fingerprint == slot.fingerprint && !slot.turned;
    slot = use;
    return slot.turned;
  }
  /// Takes the same slot once more, for the operation's next piece.
  bool take_again(std::uint32_t first_tick) {
    Use& slot = uses_[(next_ - 1) % kSlots];
    slot.first_tick = first_tick;
    slot.turned = !slot.turned;
    return slot.turned;
  }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::size_t slot_bytes_;
  std::size_t next_ = 0;
  std::array<Use, kSlots> uses_;
};

}  // namespace lockstep
