#pragma once

#include "bench/options.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::bench {

/// One algorithm at one size.
struct Row {
  std::size_t bytes = 0;  ///< of a rank's whole buffer
  std::size_t count = 0;
  std::string algorithm;   ///< that ran
  bool picked = false;     ///< "auto" was asked for
  bool from_file = false;  ///< the schedule that a file gave
  bool as_auto = false;    ///< by whatever name, it runs the schedule that "auto" took
  double median_us = 0;    ///< of an operation, the slowest rank's, over iterations
  double p99_us = 0;
  double algbw_gb_per_s = 0;  ///< bytes over the median
  double busbw_gb_per_s = 0;  ///< that times nccl-tests' factor for the collective
  std::uint64_t wrong = 0;    ///< elements, over all ranks and iterations
  std::size_t iterations = 0;
  /// Of each round. All rows of a size have as many, and their n-th rounds ran one after the other.
  std::vector<double> round_median_us{};
  std::size_t batch = 1;  ///< operations in an iteration, without a barrier between
};

struct Result {
  Options options;
  int world_size = 1;      ///< ranks that measured, in all groups
  std::vector<int> hosts;  ///< of each rank, as Group::hosts
  std::string transport;
  double limit_gb_per_s = 0;  ///< memory traffic of copies on all ranks at once
  std::vector<Row> rows;
  std::vector<std::string> not_run;  ///< algorithms of "all" that do not fit these ranks, or the kind of reduction

  std::uint64_t wrong() const {
    std::uint64_t sum = 0;
    for (const Row& row : rows) sum += row.wrong;
    return sum;
  }
};

/// How much longer than the best algorithm "auto" took at one size. The best of many is partly the luckiest: so it is
/// chosen by half of the rounds and compared in the other half, both ways round; and a machine that others share is
/// slower in some rounds: so the two are compared round by round, and the median of these ratios counts. Who took the
/// best one lost nothing: by what its two rows differ is told apart, as noise.
struct Regret {
  std::size_t bytes;
  std::string picked;
  std::string best;
  double share;                 ///< 0.1: 10 % longer; below 0 where noise favoured it
  std::optional<double> again;  ///< of "auto": the same beside the other row of its schedule, where there is one
};
/// A line for each size at which both "auto" and others were measured.
std::vector<Regret> regrets(const std::vector<Row>& rows);
/// The same of a schedule from a file, which is `picked`, beside the best of what ran with it.
std::vector<Regret> file_regrets(const std::vector<Row>& rows);

/// A table as nccl-tests prints it: lines of comment start with '#'.
std::string table_heading(const Result& result);
std::string table_row(const Row& row, const Options& options);
std::string table_end(const Result& result);
std::string to_table(const Result& result);
/// One JSON object.
std::string to_json(const Result& result);

}  // namespace lockstep::bench
