#pragma once

#include "planner/calibration/calibration.h"

namespace lockstep {

/// Turns are dear and bytes cheap, or the other way round.
inline Calibration calibration_with(double turn_s, double accessed_s, double fetched_s) {
  Calibration calibration{
      .machine = {.processor = "test", .cores = 4, .memory_bytes = 1e9},
      .shm = {},
      .link = {.alpha_s = 3e-7, .beta_s = 1e-10, .gamma_s = 5e-11},
      .memory_bytes_per_second = 1e10,
      .held_back = {.sizes = {.median = 0.05, .worst = 0.2}, .ranks = {.median = 0.1, .worst = 0.3}},
      .samples = {{.algorithm = "ring",
                   .ranks = 2,
                   .bytes = 4,
                   .seconds = 1e-6,
                   .error = 0.01,
                   .other_state_s = 3e-6,
                   .other_state_error = 0.02,
                   .predicted_s = 2e-6}}};
  calibration.shm.seconds[HostCosts::kSwitch] = turn_s;
  calibration.shm.seconds[HostCosts::kProgress] = turn_s;
  calibration.shm.seconds[HostCosts::kByte] = accessed_s;
  calibration.shm.seconds[HostCosts::kFetchedByte] = fetched_s;
  return calibration;
}

}  // namespace lockstep
