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
    std::uint64_t fingerprint =
        0;  ///< of an operation with a root; 0 where no two ranks can both take themselves for it
  };

  explicit StagingRing(std::size_t bytes) : slot_bytes_(bytes / kSlots / kAlignment * kAlignment) {}

  std::size_t slot_bytes() const { return slot_bytes_; }
  /// Where the next slot begins in the area of each rank.
  std::size_t offset_bytes() const { return next_ % kSlots * slot_bytes_; }
  /// What must be over before the next slot is written.
  const Use& previous_use() const { return uses_[next_ % kSlots]; }
  /// Takes the next slot.
  void take(const Use& use) { uses_[next_++ % kSlots] = use; }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::size_t slot_bytes_;
  std::size_t next_ = 0;
  std::array<Use, kSlots> uses_;
};

}  // namespace lockstep
