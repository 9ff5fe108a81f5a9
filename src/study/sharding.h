#pragma once

#include "report/lab_page.h"
#include "study/cost_model.h"
#include "study/records.h"

#include <string>
#include <vector>

namespace lockstep::study {

/// A training at one stage.
struct StagePoint {
  int stage = 0;
  double iteration_ms = 0;
  double communication_ms = 0;        ///< of all operations together, behind backward
  std::vector<BucketRecord> buckets;  ///< operations of one iteration
  std::vector<MemoryRecord> memory;   ///< of rank 0, between updates
};

struct ShardingStudy {
  std::string command;
  std::string training;  ///< in words
  std::string how;       ///< in words
  std::string about;     ///< of the predictions
  int ranks = 2;
  std::uint64_t parameters = 0;
  double compute_ms = 0;  ///< of an iteration at stage 0 less its communication: of a run that is no point of the sweep
  double update_ms = 0;   ///< of that, the optimizer's
  CostModel model;
  std::vector<std::uint64_t> calibrated = {};  ///< sizes that the model's calibration measured
  std::vector<StagePoint> stages;
};

/// What a rank is predicted to send for an iteration: 2(p-1)/p n for the all-reduce of n bytes of gradients, as much
/// for their reduce-scatter and the all-gather of parameters (stages 1 and 2), 3(p-1)/p n with parameters that are
/// gathered twice (stage 3). Rajbhandari et al., SC 2020, section 7.
double predict_sent_bytes(int stage, int ranks, double bytes);

/// In ms: compute as at stage 0 less the part of the update that other ranks do, and all communication on top.
double predict_iteration_ms(const ShardingStudy& study, const StagePoint& point);

LabPage page_of(const ShardingStudy& study);

}  // namespace lockstep::study
