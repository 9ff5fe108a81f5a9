#pragma once

#include "planner/medium.h"
#include "planner/one_host/host_work.h"

#include <lockstep/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// One measurement of a collective.
struct Sample {
  Collective collective = Collective::kAllReduce;
  std::string algorithm;
  int ranks = 0;
  double bytes = 0;  ///< of the whole buffer
  MemoryKind memory = MemoryKind::kRegistered;
  double seconds = 0;            ///< in the state in which the machine was for most of the time
  double error = 0;              ///< the standard error of its logarithm, as far as samples of a size differ by it
  double other_state_s = 0;      ///< while its cores were closer to each other or further; 0 where they hardly were
  double other_state_error = 0;  ///< of that
  double predicted_s = 0;        ///< by the model alone (ResidualCurve); 0 where it says nothing, as of plain memory
  std::shared_ptr<const HostJob> job;  ///< its schedule and plans; none where the sample was read from a file
};

/// How far predictions are from samples: |predicted - measured| / measured.
struct PredictionError {
  double median = 0;
  double worst = 0;
};
PredictionError error_of(const std::vector<Sample>& samples, const std::function<double(const Sample&)>& predicted);

}  // namespace lockstep
