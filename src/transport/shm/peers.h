#pragma once

#include "transport/shm/board.h"
#include "transport/shm/lifeline.h"

#include <lockstep/error.h>

#include <memory>
#include <optional>
#include <vector>

namespace lockstep::shm {

/// What a rank sees of its peers: their slots, and whether their processes live.
class Peers {
 public:
  Peers(int rank, int size, std::shared_ptr<RankSlot> slots, std::vector<FileDescriptor> lifelines)
      : rank_(rank), size_(size), slots_(std::move(slots)), lifelines_(std::move(lifelines)) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  RankSlot& slot(int peer) const { return slots_.get()[peer]; }
  RankSlot& own_slot() const { return slot(rank_); }

  /// How long to sleep now: until the next look around, but not beyond the deadline.
  static std::chrono::microseconds slice_before(std::chrono::steady_clock::time_point deadline);

  /// Why nobody should wait any longer: a peer has failed or died.
  std::optional<Error> trouble() const;
  /// Why nobody should wait for that peer: it has left.
  std::optional<Error> absence_of(int peer) const;

 private:
  int rank_;
  int size_;
  std::shared_ptr<RankSlot> slots_;
  std::vector<FileDescriptor> lifelines_;  ///< by rank; empty where the peers are threads
};

}  // namespace lockstep::shm
