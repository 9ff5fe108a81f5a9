#pragma once

#include "planner/pricing/price.h"

#include <string>
#include <vector>

namespace lockstep {

/// Predicted times of several algorithms over a range of bytes or ranks.
struct Sweep {
  enum class Axis : std::uint8_t { kBytes, kRanks };
  struct Curve {
    std::string algorithm;
    std::vector<std::optional<double>> seconds;  ///< one a point; none where there is no price
  };

  Axis axis = Axis::kBytes;
  std::vector<double> points;  ///< ascending
  std::vector<Curve> curves;
};

/// Where one algorithm becomes faster than another.
struct Crossing {
  std::string below;   ///< faster before
  std::string above;   ///< faster from here on
  double at = 0;       ///< bytes or ranks
  double seconds = 0;  ///< that both take there
};

/// Over bytes from 64 B to 1 GiB at the request's ranks, or over ranks from 2 to the request's at its bytes: the points
/// double. A point whose schedule is long is left out of a curve, so that a sweep answers in seconds.
Sweep sweep(Sweep::Axis axis, const std::vector<std::string>& algorithms, const PriceRequest& request,
            const PricedNetwork& network);

/// Where any two curves cross, between two neighbouring points by interpolation of the logarithms; by place, then by
/// the order of the curves. Curves that touch without crossing, or that are equal, do not count.
std::vector<Crossing> crossings(const Sweep& sweep);

/// The fastest at each point, as ranges: its name and the first point at which it is the fastest. Equal times go to the
/// one that came first.
struct FastestFrom {
  double from = 0;
  std::string algorithm;
};
std::vector<FastestFrom> fastest(const Sweep& sweep);

}  // namespace lockstep
