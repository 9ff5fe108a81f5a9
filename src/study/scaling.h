#pragma once

#include "report/lab_page.h"
#include "study/cost_model.h"
#include "study/records.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::study {

/// One all-reduce alone.
struct MeasuredCollective {
  std::string algorithm;
  int ranks = 2;
  double bytes = 0;
  double seconds = 0;
};

/// One training on so many ranks, over all rounds.
struct MeasuredTraining {
  int ranks = 1;
  double iteration_ms = 0;
  double exposed_ms = 0;
  std::vector<BucketRecord> buckets;  ///< of one iteration
};

/// A training alone on one rank, which is where predictions begin.
struct AloneTraining {
  double iteration_ms = 0;
  double forward_ms = 0;
  double backward_ms = 0;
};

/// All of it over one medium.
struct ScalingSweep {
  std::string medium;
  bool shares_memory = true;
  std::string about;              ///< of the predictions
  std::map<int, FlatCost> links;  ///< by ranks: a ring's alpha and beta, for words
  CostModel model;
  std::vector<std::uint64_t> calibrated = {};  ///< sizes that the model's calibration measured
  double gradient_bytes = 0;  ///< of the all-reduce as large as the gradient, or nearly: a size not calibrated with
  std::vector<MeasuredCollective> collectives;
  std::vector<MeasuredTraining> trainings;  ///< on 2 ranks and more
};

struct ScalingStudy {
  std::string command;
  std::string training;  ///< in words
  std::string how;       ///< in words
  std::string skipped;   ///< why there is no shaped link; empty: there is, or nobody asked
  int cores = 1;
  double gradient_bytes = 0;  ///< of the training
  AloneTraining alone;
  std::vector<ScalingSweep> sweeps;
};

/// The ms of an iteration on so many ranks that share the batch: forward and backward are divided by the ranks, the
/// update is not, ranks beyond the cores take turns, and communication comes on top as far as backward does not hide
/// it. Where ranks share memory it hides nothing, since their training threads move the bytes.
double predict_iteration_ms(const ScalingStudy& study, const ScalingSweep& sweep, const MeasuredTraining& training);

LabPage page_of(const ScalingStudy& study);

}  // namespace lockstep::study
