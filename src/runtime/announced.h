#pragma once

#include "transport/announcement.h"

#include <array>
#include <cstdint>

namespace lockstep {

/// What a rank has announced, of its last kAnnouncementsKept operations.
class Announced {
 public:
  void add(const Announcement& announcement) {
    latest_ = announcement.sequence;
    kept_[latest_ % kAnnouncementsKept] = announcement;
  }
  const Announcement& latest() const { return kept_[latest_ % kAnnouncementsKept]; }
  /// Null if it is none of them.
  const Announcement* find(std::uint64_t sequence) const {
    const Announcement& kept = kept_[sequence % kAnnouncementsKept];
    return kept.sequence == sequence ? &kept : nullptr;
  }

 private:
  std::array<Announcement, kAnnouncementsKept> kept_{};
  std::uint64_t latest_ = 0;
};

}  // namespace lockstep
