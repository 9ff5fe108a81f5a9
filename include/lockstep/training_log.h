#pragma once

#include <lockstep/data_parallel.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// What limits an iteration.
enum class Bound : std::uint8_t {
  kCompute,  ///< what the ranks compute
  kNetwork,  ///< what they send each other over a network
  kMemory    ///< the host's memory: what they exchange in it, or that they compute side by side on it
};
/// "compute-bound", ...
std::string to_string(Bound bound);

/// Milliseconds of an iteration: over all of them, and of the last.
struct IterationTime {
  double mean_ms = 0;
  double last_ms = 0;
};

/// What iterations of data-parallel training took, on this rank, summed up as the Logger of PyTorch's
/// DistributedDataParallel does it (torch/csrc/distributed/c10d/logger.hpp), and what follows.
struct TrainingStatistics {
  int world_size = 1;
  std::int64_t iterations = 0;
  IterationTime iteration;         ///< from begin_iteration() to end_iteration(): the five that follow add up to it
  IterationTime forward;           ///< to the first gradient, less what gathers took of it
  IterationTime backward_compute;  ///< from the first gradient to the last, less what communication took of it
  IterationTime exposed;           ///< communication that the calling thread did nothing beside
  IterationTime rest;              ///< optimizer, data, and whatever else is between the two calls
  IterationTime communication;     ///< operations under way, one after the other, from begin to completion
  IterationTime hidden;            ///< of that, what the thread computed beside: communication less exposed
  /// As `exposed.mean_ms`, of the rank that has the least: what no rank's waiting for slower ones explains.
  double least_exposed_ms = 0;
  std::vector<std::size_t> bucket_bytes;                 ///< of the last iteration, as they left
  std::vector<std::vector<std::string>> first_buckets;   ///< parameters by bucket, in the first iteration
  std::vector<std::vector<std::string>> latest_buckets;  ///< in the last one: after rebuilding, in the order of arrival
  std::string algorithm;                                 ///< of the largest bucket
  std::uint64_t wire_bytes = 0;                          ///< of the last iteration, sent by this rank
  std::optional<double> predicted_ms;                    ///< of its operations together; none if one has no prediction
  std::string bucket_choice;                             ///< as SyncReport's
  std::vector<std::string> unreached;                    ///< likewise, of the last iteration
  std::optional<double> alone_ms;                        ///< measured_alone_ms(), where it was given
  bool shares_memory = false;                            ///< operations move through the memory of one host

  /// Of an iteration, the part that one rank would need if its communication cost nothing: (iteration - exposed) /
  /// iteration, by the means. The p ranks do that times p of what one would do in the same time, each with a batch as
  /// large as now. With alone_ms also what computing side by side costs: (alone + rest) / iteration. At most 1.
  double scaling_efficiency = 1;
  Bound bound = Bound::kCompute;
};

/// Of the times: network- or memory-bound (by what moves the bytes) if at least a fifth of the iteration is exposed on
/// every rank; else memory-bound if computing takes at least a fifth more than it does alone; else compute-bound.
Bound bound_of(const TrainingStatistics& statistics);
double scaling_efficiency_of(const TrainingStatistics& statistics);

/// One paragraph: the times, the buckets, parameters that no backward reached and what to do about them, the verdict
/// with the numbers that it stands on.
std::string describe(const TrainingStatistics& statistics);

/// Sums iterations up.
///
///   lockstep::TrainingLog log(world);
///   for (auto& batch : loader->epoch()) {
///     log.begin_iteration();
///     ... forward, backward, step ...
///     log.end_iteration(replica.report());
///   }
///   std::cout << describe(log.statistics());
///
/// Costs looks at the clock and a copy of the report. Not thread-safe.
class TrainingLog {
 public:
  explicit TrainingLog(const Group& group);

  void begin_iteration();
  /// `report` is of this iteration. Throws Error (kInvalidArgument) if none was begun.
  void end_iteration(const SyncReport& report);
  /// Forgets the iterations: the first are slower, and buckets are laid out anew after them. The first order stays.
  void restart();
  /// What forward and backward of one iteration take where no other rank computes.
  void set_alone_ms(double milliseconds) { alone_ms_ = milliseconds; }

  /// Collective: ranks tell each other how much communication was exposed. Throws Error (kInvalidArgument) before the
  /// first iteration.
  TrainingStatistics statistics() const;

 private:
  struct Times {
    double iteration = 0, forward = 0, backward_compute = 0, exposed = 0, rest = 0, communication = 0, hidden = 0;
  };
  static Times times_of(const SyncReport& report, std::int64_t begin_us, std::int64_t end_us);

  Group group_;
  std::int64_t begun_us_ = 0;
  std::int64_t iterations_ = 0;
  Times sum_;
  Times last_;
  SyncReport report_;
  std::vector<std::vector<std::string>> first_buckets_;
  std::optional<double> alone_ms_;
};

/// What `compute` takes on a rank while all others wait, each in turn: the median of `times` runs of the slowest rank,
/// after one that does not count. `compute` must not communicate: forward and backward under pause(). The same on all
/// ranks. Collective and blocking.
double measured_alone_ms(const Group& group, const std::function<void()>& compute, int times = 3);

}  // namespace lockstep
