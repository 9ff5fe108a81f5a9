#pragma once

#include "schedule/schedule.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

/// The machine that a calibration belongs to. Nothing in it changes when it boots again.
struct Machine {
  std::string processor;  ///< as the system names it
  int cores = 1;          ///< that ranks may use
  double memory_bytes = 0;
  double cache_bytes_a_core = 0;  ///< that a core has for itself (level 2)
  double cache_bytes_shared = 0;  ///< that all cores share (level 3); 0: none

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// The machine this runs on, as /proc and /sys describe it; what they do not say is 0 or "unknown".
Machine this_machine();

/// What ranks cost that share the memory of one host. A linear model: the time of a collective is the sum of what its
/// schedule has of each of these, times the seconds that each takes.
///
///   - one operation, and again for each further rank on a core;
///   - a step, in which ranks wait for each other, and again for each further rank on a core;
///   - a transfer of the rank that has the most of them in a step;
///   - the bytes copied and reduced by the busiest core in each step, priced by how large all buffers are together: in
///     the cores' own caches, in the shared one, in memory, with the logarithm between.
struct HostModel {
  static constexpr std::size_t kLevels = 4;  ///< own caches, shared cache, twice that, far beyond
  static constexpr std::size_t kOtherFeatures = 5;
  static constexpr std::size_t kFeatures = kOtherFeatures + 2 * kLevels;
  using Features = std::array<double, kFeatures>;

  Features seconds{};  ///< of each, in the order above: copied by level, then reduced by level

  double predict(const Features& features) const;
};

/// What a schedule has of each. `bytes` is the whole buffer's size.
HostModel::Features features_of(const Schedule& schedule, double bytes, const Machine& machine);

/// One measurement.
struct HostSample {
  Collective collective = Collective::kAllReduce;
  std::string algorithm;
  int ranks = 0;
  double bytes = 0;
  double seconds = 0;
  HostModel::Features features{};
};

/// The model that fits the samples best: least squares of the relative errors, no cost below 0. Throws Error
/// (kInvalidArgument) without samples.
HostModel fit(const std::vector<HostSample>& samples);

/// How far predictions are from samples: |predicted - measured| / measured.
struct PredictionError {
  double median = 0;
  double worst = 0;
};
PredictionError error_of(const HostModel& model, const std::vector<HostSample>& samples);

}  // namespace lockstep
