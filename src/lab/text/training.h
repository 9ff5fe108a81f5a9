#pragma once

#include "lab/journal.h"
#include "lab/text/checkpoint.h"
#include "lab/text/data.h"
#include "lab/text/gpt.h"
#include "lab/text/options.h"
#include "lab/text/vocabulary.h"
#include "lab/training_trace.h"

#include <lockstep/group.h>
#include <lockstep/training_log.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::lab {

/// All that a training of text needs, read and checked. Each rank has its own.
struct TextTask {
  TextOptions options;
  Vocabulary vocabulary;
  TextData data;
  std::vector<std::int32_t> prompt;
  std::optional<Checkpoint> checkpoint;  ///< to go on from
};

/// Reads the input that `arguments` (of `lockstep-train text`) ask for, and makes the folder for the output. Throws
/// Error (kInvalidArgument) for what cannot be, CLI::ParseError for arguments that are none.
TextTask prepare_text(const std::vector<std::string>& arguments);

/// What came out of a training.
struct TextOutcome {
  Gpt model = nullptr;
  double validation_loss = 0;  ///< over all windows of the validation part, each token once
  TrainingStatistics statistics;
  double seconds = 0;                ///< of the iterations, without evaluation and checkpoints
  std::vector<MemoryRecord> memory;  ///< of this rank, after the last update
};

/// Trains on all ranks of the group in lockstep and saves the checkpoints. The model depends on the settings and,
/// without dropout, not on the number of ranks (but for rounding). `journal` is rank 0's, null on the others.
/// Collective. Throws what Group and DataParallel throw; Error (kIo) for a checkpoint that cannot be written;
/// FailedElsewhere.
TextOutcome train_text(const Group& group, TextTask& task, TrainingTrace& trace, Journal* journal);

/// Where a training with these options keeps its checkpoint.
std::filesystem::path checkpoint_path(const TextOptions& options);

}  // namespace lockstep::lab
