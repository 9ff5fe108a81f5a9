#pragma once

#include "report/lab_page.h"
#include "study/cost_model.h"
#include "study/records.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::study {

/// A training with buckets of one size.
struct BucketPoint {
  std::uint64_t bucket_bytes = 0;     ///< asked for
  std::vector<BucketRecord> buckets;  ///< as they left, of one iteration
  double iteration_ms = 0;
  double most_ms = 0;  ///< of the rounds' iterations, of which iteration_ms is the least
  double exposed_ms = 0;
  double behind_ms = 0;         ///< an iteration where all buckets start behind backward
  double communication_ms = 0;  ///< and their communication there, with nothing beside it
};

/// Bucket sizes over one medium.
struct BucketSweep {
  std::string medium;         ///< "shared memory"
  bool shares_memory = true;  ///< then training threads move the bytes themselves, and nothing is hidden
  int ranks = 2;
  double compute_ms = 0;   ///< of an iteration less its communication: of a run that is no point of the sweep
  double backward_ms = 0;  ///< of that
  FlatCost link;           ///< a ring's alpha and beta, for words
  std::string about;       ///< of the predictions
  CostModel model;
  std::vector<std::uint64_t> calibrated = {};  ///< sizes that the model's calibration measured
  std::vector<BucketPoint> points;
};

struct BucketStudy {
  std::string command;
  std::string training;  ///< "text: GPT, 4 layers, 128 wide, 0.8 million parameters"
  std::string how;       ///< rounds and iterations, in words
  std::string skipped;   ///< why there is no shaped link; empty: there is, or nobody asked
  std::vector<BucketSweep> sweeps;
};

/// What an iteration with these buckets is predicted to take, in ms.
struct BucketPrediction {
  double communication_ms = 0;
  double iteration_ms = 0;
  double behind_ms = 0;  ///< where they start behind backward
};
/// T = T_compute + what of the communication is exposed (study/overlap.h).
BucketPrediction predict(const BucketSweep& sweep, const std::vector<BucketRecord>& buckets);

LabPage page_of(const BucketStudy& study);

}  // namespace lockstep::study
