#pragma once

#include <lockstep/data_parallel.h>

#include <cstddef>
#include <deque>
#include <string>

#include "train/sharded/sequence.h"
#include "train/sync_timing.h"

namespace lockstep {

/// The gathers of an iteration, for its report.
class GatherLog {
 public:
  /// Where the iteration is from here on, as BucketTiming::phase says it. Empty: what begins is of no iteration (an
  /// evaluation, a checkpoint), and not kept.
  void enter(std::string phase) { phase_ = std::move(phase); }
  /// The first gradient of the backward is there.
  void begin_gradients() { gradients_ = true; }
  const std::string& phase() const { return phase_; }
  /// Of the gathers that were started, whichever phase they belong to.
  Sequence& sequence() { return sequence_; }

  /// Of the calling thread: what gathers took of it since the last take_into().
  double& exposed_ms();
  void add(BucketTiming timing);
  /// Adds them to a report, which is then in the order of launches, and forgets them.
  void take_into(SyncReport& report);

 private:
  /// Forwards of which no backward comes must not fill the memory.
  static constexpr std::size_t kMost = 4096;

  std::string phase_;
  Sequence sequence_;
  std::deque<BucketTiming> timings_;
  bool gradients_ = false;
  double before_gradients_ms_ = 0;
  double among_gradients_ms_ = 0;
  double step_ms_ = 0;
  double of_none_ms_ = 0;
};

}  // namespace lockstep
