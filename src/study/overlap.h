#pragma once

#include "report/record.h"
#include "study/cost_model.h"

#include <vector>

namespace lockstep::study {

/// What the buckets of an iteration are predicted to take.
struct PredictedCommunication {
  double all_ms = 0;      ///< of all buckets, one after another
  double exposed_ms = 0;  ///< that backward does not hide
};

/// Where it happens.
struct Backward {
  int ranks = 2;
  double milliseconds = 0;    ///< of backward, without communication
  bool shares_memory = true;  ///< then training threads move the bytes themselves, and nothing is hidden
};

/// By the model, for buckets in the order in which they leave. Gradients come evenly over backward, by their bytes;
/// over a network a bucket leaves when it is full and those before it are through, while backward goes on.
PredictedCommunication predict(const CostModel& model, const std::vector<BucketRecord>& buckets,
                               const Backward& backward);

}  // namespace lockstep::study
