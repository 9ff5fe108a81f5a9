#pragma once

#include "planner/one_host/machine.h"
#include "planner/one_host/sample.h"
#include "schedule/schedule.h"

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace lockstep {

/// What a model is wrong by for one schedule, from where that was measured: the logarithm of measured over predicted
/// seconds, by the logarithm of the bytes of all ranks' buffers, since by that it is that caches are lost; between two
/// sizes by interpolation; before the first and beyond the last it stays what it is there. In shared memory what goes
/// as letters, and what goes past the caches, is priced in another way than the rest, and has a curve of its own.
///
/// It is known of what the catalogue builds: an algorithm's schedule, whole, for ranks of one host. Of a number of
/// ranks that was not measured so much is known as the next fewer and the next more both say: the smaller of their
/// logarithms, and nothing where one says more and the other less (minmod, Roe 1986), each of as many bytes in all. Of
/// anything else, as of a schedule from a file, nothing is known, and the factor is 1.
class ResidualCurve {
 public:
  ResidualCurve() = default;
  /// From samples on registered memory that say what the model predicts for them (Sample::predicted_s).
  /// `memory_of`: the machine whose memory the ranks share; none where they talk over TCP.
  ResidualCurve(const std::vector<Sample>& samples, const Schedule& schedule, const std::optional<Machine>& memory_of);

  /// What the model's prediction is to be multiplied by, on buffers of so many bytes each.
  double factor(double bytes) const;

 private:
  enum Way : std::size_t { kAsPlans, kAsLetters, kPastCaches, kWays };  ///< how a model prices
  using Curve = std::map<double, double>;  ///< ln(measured / predicted) by ln(bytes of all ranks)
  static double at(const Curve& curve, double log_bytes);
  static Curve said_by_both(const Curve& fewer, const Curve& more);
  Way way_of(double bytes) const;
  /// Of how many ranks this is, and where the ways end of the same algorithm between them.
  void find_ways(const Schedule& like, int ranks, const std::optional<Machine>& memory_of);

  int ranks_ = 1;
  double most_letter_bytes_ = 0;
  double most_cached_bytes_ = std::numeric_limits<double>::infinity();
  std::array<Curve, kWays> curves_;
};

}  // namespace lockstep
