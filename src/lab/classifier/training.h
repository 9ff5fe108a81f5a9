#pragma once

#include "lab/classifier/batch_stream.h"
#include "lab/classifier/evaluation.h"
#include "lab/classifier/task.h"
#include "lab/journal.h"
#include "lab/training_trace.h"

#include <lockstep/checkpoint.h>
#include <lockstep/group.h>
#include <lockstep/metrics.h>
#include <lockstep/sharded.h>
#include <lockstep/training_log.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace lockstep::lab {

/// What came out of a training.
struct ClassifierOutcome {
  Evaluation best;
  std::int64_t best_iteration = 0;
  std::int64_t iterations = 0;  ///< done, fewer than planned where it stopped early
  TrainingStatistics statistics;
  std::vector<MemoryRecord> memory;  ///< of this rank, after the last update
  double seconds = 0;                ///< of the iterations, without evaluations and checkpoints
};

/// Trains a classifier on all ranks of a group in lockstep, and keeps the best one. The model depends on the options,
/// not on the stage nor, without dropout, on the number of ranks (but for rounding). All is collective.
class ClassifierTraining {
 public:
  /// Makes the model and what trains it, and loads the run to go on with. Throws Error for weights or a checkpoint that
  /// do not fit, what Sharded and Loader throw; FailedElsewhere.
  ClassifierTraining(const Group& group, ClassifierTask& task);

  std::uint64_t parameters() const;
  std::int64_t updates() const { return updates_; }
  std::int64_t done() const { return done_; }
  const torch::nn::Module& model() const { return *model_; }
  /// As Sharded::gather.
  Sharded::Whole whole() { return sharded_.gather(); }

  /// `journal` is rank 0's, null on the others. Throws what Group and Sharded throw; Error (kUnsupported) for a loss
  /// that is not finite, kIo for a model that cannot be written; FailedElsewhere.
  ClassifierOutcome run(TrainingTrace& trace, Journal* journal);

  /// Where the best model is kept.
  static std::filesystem::path best_folder(const OutputOptions& options) { return options.folder() / "best"; }

 private:
  void load_checkpoint();
  void save_checkpoint(std::int64_t iteration);
  TrainingState state();

  IterationRecord update(std::int64_t iteration, TrainingTrace& trace);
  /// Leaves the mean gradient of a batch.
  void compute_gradient(TrainingTrace& trace);
  /// Forward and backward of one part of a batch, which counts by its share of the update's samples: an epoch's last
  /// part may be smaller than the others.
  void compute_part(TrainingTrace& trace, std::int64_t of_update);
  /// Evaluates, and keeps the model if it is the best so far.
  void judge(std::int64_t iteration, IterationRecord& record);

  Group group_;
  ClassifierTask& task_;
  Sharded sharded_;
  std::shared_ptr<torch::nn::Module> model_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::unique_ptr<Loader> training_;
  std::unique_ptr<Loader> evaluation_;
  std::optional<Checkpoints> checkpoints_;  ///< where they are asked for
  Metrics metrics_;                         ///< of the update under way
  BatchStream batches_;
  std::int64_t updates_ = 0;
  std::int64_t done_ = 0;
  double data_wait_ms_ = 0;    ///< of the update under way
  std::int64_t examples_ = 0;  ///< of the update under way, on all ranks
  double seconds_ = 0;
  Evaluation best_;
  std::int64_t best_iteration_ = 0;  ///< 0: none yet
  std::int64_t worse_ = 0;           ///< evaluations since
};

}  // namespace lockstep::lab
