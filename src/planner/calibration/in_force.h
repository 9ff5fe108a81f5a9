#pragma once

#include "planner/calibration/calibration.h"
#include "planner/selection/selection.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// The calibration that the ranks of a job follow.
struct JobCalibration {
  std::shared_ptr<const Calibration> calibration;  ///< null: none
  std::string fault;                               ///< why what is stored is not followed; empty where nothing is
  std::uint64_t digest = 0;                        ///< equal where ranks follow the same
};

/// What is stored for this machine, as it is now. Reads a file, which takes milliseconds.
JobCalibration job_calibration();

/// The selection that "auto" follows, and where it is from, in words: "built in", "calibrated here",
/// "calibrated here, then LOCKSTEP_ALGORITHMS".
struct SelectionInForce {
  Selection selection;
  std::string source;
};

/// For a group of so many ranks, on these hosts (empty: on one): what is built in or, for shared memory of one host,
/// what the calibration predicts (if it is trusted; the source says why not); on one host, over shared memory or TCP,
/// what it measured of so many ranks exactly; then what LOCKSTEP_ALGORITHMS says of the collectives that it names.
/// A calibration of more cores than `cores`, or of cores that nobody else shared, is not followed. Throws Error
/// (kInvalidArgument) for that text. Ranks with the same calibration, the same text and the same `cores`
/// (built_in_selection()) come to the same.
SelectionInForce selection_in_force(int ranks, Medium medium = Medium::kSharedMemory,
                                    const std::vector<int>& hosts = {},
                                    const JobCalibration& followed = job_calibration(),
                                    const GroupCores& cores = job_cpus());

}  // namespace lockstep
