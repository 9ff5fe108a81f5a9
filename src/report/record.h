#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// One bucket's reduction, as reports show it.
struct BucketRecord {
  int index = 0;
  std::vector<std::string> parameters;
  std::uint64_t bytes = 0;
  std::string algorithm;
  double milliseconds = 0;  ///< from launch to completion
  bool hidden = false;      ///< complete before the last gradient existed
};

/// What one iteration (one optimizer update) did, seen from rank 0.
struct IterationRecord {
  std::int64_t iteration = 0;  ///< from 1
  double loss = 0;             ///< mean over the global batch
  double gradient_norm = 0;    ///< global, before clipping
  double learning_rate = 0;
  double tokens_per_second = 0;  ///< of all ranks together
  double compute_ms = 0;         ///< the iteration less its exposed communication
  double exposed_ms = 0;         ///< communication that backward did not hide
  std::uint64_t bytes = 0;       ///< of gradients that this rank handed to the collective
  std::string algorithm;
  std::optional<double> validation_loss;  ///< where it was measured
  std::vector<BucketRecord> buckets;      ///< filled where they are asked for
};

/// What does not change during a run.
struct RunRecord {
  std::string title;    ///< "text: GPT, 4 layers, 128 wide"
  std::string command;  ///< as typed
  int world_size = 1;
  std::uint64_t parameters = 0;                               ///< number of trained values
  std::int64_t iterations = 0;                                ///< planned
  std::vector<std::pair<std::string, std::string>> settings;  ///< name, value: as shown to a person
};

}  // namespace lockstep
