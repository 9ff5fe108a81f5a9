#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// One bucket's collective, as reports show it.
struct BucketRecord {
  int index = 0;
  std::vector<std::string> parameters;
  std::uint64_t bytes = 0;
  std::string algorithm;
  double milliseconds = 0;               ///< it alone: from when those before it were complete
  bool hidden = false;                   ///< complete before the last gradient existed
  std::string operation = {};            ///< "all_reduce", "reduce_scatter", "all_gather"; empty where nobody says
  std::string block = {};                ///< of full sharding: the wrapped block; else empty
  std::string phase = {};                ///< of the iteration: "forward", "backward", "step"; empty where nobody says
  int steps = 0;                         ///< of the schedule that ran; 0 where not known
  std::uint64_t wire_bytes = 0;          ///< that this rank sent for it; 0 where not known
  std::optional<double> predicted_ms{};  ///< by a calibration that did not see this run

  /// (predicted - measured) / measured: 0.1 for a prediction 10 % too long. None where there is nothing to compare.
  std::optional<double> prediction_error() const {
    if (!predicted_ms || !(milliseconds > 0)) return std::nullopt;
    return (*predicted_ms - milliseconds) / milliseconds;
  }
};

/// What one iteration (one optimizer update) did, seen from rank 0. Its time is compute_ms + exposed_ms + data_wait_ms;
/// its communication hidden_ms + exposed_ms.
struct IterationRecord {
  std::int64_t iteration = 0;  ///< from 1
  double loss = 0;             ///< mean over the global batch
  double gradient_norm = 0;    ///< global, before clipping
  double learning_rate = 0;
  double items_per_second = 0;  ///< of all ranks together; RunRecord::item says of what
  double compute_ms = 0;        ///< the iteration less its exposed communication and its wait for data
  double exposed_ms = 0;        ///< communication that nothing was computed beside
  std::uint64_t bytes = 0;      ///< of gradients that this rank handed to the collective
  std::string algorithm;
  std::optional<double> validation_loss;      ///< where it was measured
  std::vector<BucketRecord> buckets;          ///< filled where they are asked for
  double hidden_ms = 0;                       ///< communication that ran while compute_ms did
  double data_wait_ms = 0;                    ///< for the next batch
  std::optional<double> training_accuracy;    ///< share of the global batch, 0 to 1
  std::optional<double> validation_accuracy;  ///< 0 to 1, where it was measured

  double communication_ms() const { return hidden_ms + exposed_ms; }  ///< T_comm
};

/// What does not change during a run.
struct RunRecord {
  std::string title;    ///< "text: GPT, 4 layers, 128 wide"
  std::string command;  ///< as typed
  int world_size = 1;
  std::uint64_t parameters = 0;                               ///< number of trained values
  std::int64_t iterations = 0;                                ///< planned
  std::vector<std::pair<std::string, std::string>> settings;  ///< name, value: as shown to a person
  std::string item = "tokens";                                ///< what a rate counts: "tokens", "sentences", "images"
};

/// Memory of one kind on one rank: what the formula says, and what was counted.
struct MemoryRecord {
  std::string kind;                   ///< "parameters", "gradients", "optimizer state", "communication buffers"
  std::uint64_t predicted_bytes = 0;  ///< 0: nobody does
  std::uint64_t measured_bytes = 0;
};

/// What a rank did from when to when, for the picture of one iteration. Times are of the monotonic clock, which the
/// ranks of a host share.
struct TimelineSpan {
  int rank = 0;
  std::string name;      ///< "forward", "backward", "bucket 0"
  std::string category;  ///< "compute", "communication"
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
};

}  // namespace lockstep
