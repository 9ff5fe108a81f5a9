#pragma once

#include "planner/medium.h"
#include "planner/one_host/sample.h"
#include "schedule/schedule.h"

#include <array>
#include <map>
#include <vector>

namespace lockstep {

/// What a model is wrong by for one schedule, from where that was measured: the logarithm of measured over predicted
/// seconds, by the logarithm of the bytes, between two sizes by interpolation; before the first and beyond the last it
/// stays what it is there. What goes as letters in shared memory, which is priced in another way, has a curve of its
/// own.
///
/// It is known of what the catalogue builds: an algorithm's schedule, whole, for ranks of one host. Of a number of
/// ranks that was not measured so much is known as the next fewer and the next more both say: the smaller of their
/// logarithms, and nothing where one says more and the other less (minmod, Roe 1986). Of anything else, as of a
/// schedule from a file, nothing is known, and the factor is 1.
class ResidualCurve {
 public:
  ResidualCurve() = default;
  /// From samples on registered memory that say what the model predicts for them (Sample::predicted_s).
  ResidualCurve(const std::vector<Sample>& samples, const Schedule& schedule, Medium medium);

  /// What the model's prediction is to be multiplied by.
  double factor(double bytes) const;

 private:
  using Curve = std::map<double, double>;  ///< ln(measured / predicted) by ln(bytes)
  static double at(const Curve& curve, double log_bytes);
  static Curve said_by_both(const Curve& fewer, const Curve& more);
  bool is_letter(double bytes) const { return bytes <= most_letter_bytes_; }

  double most_letter_bytes_ = 0;
  std::array<Curve, 2> curves_;  ///< by is_letter()
};

}  // namespace lockstep
