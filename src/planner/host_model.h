#pragma once

#include "planner/host_work.h"
#include "schedule/schedule.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// The machine that a calibration belongs to. Nothing in it changes when it boots again.
struct Machine {
  std::string processor;  ///< as the system names it
  int cores = 1;          ///< that all ranks together may use
  double memory_bytes = 0;
  double cache_bytes_a_core = 0;  ///< that a core has for itself (level 2)
  double cache_bytes_shared = 0;  ///< that all cores share (level 3); 0: none

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// The machine this runs on, as /proc and /sys describe it; what they do not say is 0 or "unknown".
Machine this_machine();

/// What ranks cost that share the memory of one host. A linear model: the time of a collective is the sum of what its
/// plans make the cores do (planner/host_work.h), times the seconds that each of it takes.
///
///   - one operation;
///   - a turn, of ranks that have a core each;
///   - a turn, of ranks that share cores: the system switches from one to another;
///   - a pass over a chunk;
///   - a byte that the busiest core reads or writes;
///   - for a letter (small buffers of one exchange), instead of all these: a turn, of ranks that have a core each;
///   - and a byte that the busiest core reads of others' letters;
///   - again, a byte that is not in its own cache, by where all buffers together have room: in the shared cache or in
///     memory, with the logarithm between;
///   - a byte that it fetches from another core's cache, by the same and by the cores' own caches.
struct HostModel {
  static constexpr std::size_t kLevels = 4;  ///< own caches, half of the shared one, all of it, far beyond
  static constexpr std::size_t kOtherFeatures = 7;
  static constexpr std::size_t kFeatures = kOtherFeatures + (kLevels - 1) + kLevels;
  using Features = std::array<double, kFeatures>;

  Features seconds{};  ///< of each, in the order above

  double predict(const Features& features) const;
};

/// A schedule and what it makes the cores do, to be priced at any size.
struct HostJob {
  HostJob(Schedule of, const Machine& machine) : schedule(std::move(of)), work(work_of(schedule, machine.cores)) {}
  Schedule schedule;
  HostWork work;
};

/// What a job has of each. `bytes` is the whole buffer's size.
HostModel::Features features_of(const HostJob& job, double bytes, const Machine& machine);

/// One measurement.
struct HostSample {
  Collective collective = Collective::kAllReduce;
  std::string algorithm;
  int ranks = 0;
  double bytes = 0;
  double seconds = 0;
  HostModel::Features features{};
};

/// The model that fits the samples best: the least sum of relative errors (nearly; of their squares where they are
/// below 3 %), so that samples that something else disturbed count little; no cost below 0. Throws Error
/// (kInvalidArgument) without samples.
HostModel fit(const std::vector<HostSample>& samples);

/// How far predictions are from samples: |predicted - measured| / measured.
struct PredictionError {
  double median = 0;
  double worst = 0;
};
PredictionError error_of(const HostModel& model, const std::vector<HostSample>& samples);

}  // namespace lockstep
