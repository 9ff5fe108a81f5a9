#pragma once

#include <lockstep/group.h>
#include <lockstep/training_log.h>
#include <torch/types.h>

#include <cstdint>
#include <string>

namespace lockstep::lab {

// What every training does in an iteration.

/// A TrainingLog without the first iterations, which are slower, of a training that has more than those.
class SettledLog {
 public:
  SettledLog(const Group& group, std::int64_t iterations)
      : log_(group), left_out_(iterations > 2 * kFirst ? kFirst : 0) {}

  void begin_iteration() {
    if (begun_++ == left_out_) log_.restart();  // so that what is left is never nothing
    log_.begin_iteration();
  }
  void end_iteration(const SyncReport& report) { log_.end_iteration(report); }
  /// Collective.
  TrainingStatistics statistics() const { return log_.statistics(); }

 private:
  static constexpr std::int64_t kFirst = 5;
  TrainingLog log_;
  std::int64_t left_out_;
  std::int64_t begun_ = 0;
};

/// Is it time for what is done each `every` iterations? 0: never.
inline bool due(std::int64_t iteration, std::int64_t every) { return every > 0 && iteration % every == 0; }

/// Dropout is random too: seeds torch's generator by the iteration and the rank, so that a resumed run drops the same.
void seed_dropout(std::uint64_t seed, std::int64_t iteration, int rank);

/// The mean loss over a global batch of `batch` examples, of which this rank's mean `loss` is over `samples`, or none.
/// Collective.
double mean_over_ranks(const Group& group, const torch::Tensor& loss, std::int64_t samples, std::int64_t batch);

/// Throws Error (kUnsupported) on one rank and FailedElsewhere on the others, if `loss`, the same on all, is not
/// finite. Collective then.
void stop_if_diverged(const Group& group, double loss, std::int64_t iteration);

/// What is wrong with the name of a collective algorithm is said once, before the first iteration. Collective.
void check_algorithm(const Group& group, const std::string& algorithm);

}  // namespace lockstep::lab
