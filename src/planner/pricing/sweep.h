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
    std::vector<Price::Source> sources = {};     ///< of these
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
  double seconds = 0;  ///< that the latter takes there
};

/// Over bytes from 64 B, or the request's where they are fewer, to 1 GiB, or the request's where they are more, at the
/// request's ranks, or over ranks from 2 to the request's at its bytes: the points double, and the request's own is one
/// of them; of fewer ranks than its root needs, the last is the root. Curves are closed forms where there are any; by
/// bytes one that is simulated is known between points by the line through them, where a point in their middle lies on
/// it. Of the other schedules the longest are left out, so that a sweep answers in seconds; what `rows` say of the
/// request is taken from them.
Sweep sweep(Sweep::Axis axis, const std::vector<std::string>& algorithms, const PriceRequest& request,
            const PricedNetwork& network, const std::vector<Price>& rows = {});

/// Where any two curves cross, by place, then by the order of the curves. By bytes curves are straight between two
/// points, which times of alpha and beta are. By ranks they leap, many of them from one number to the next, so that
/// only powers of two are compared: a crossing is the first at which `above` is faster. Curves that touch without
/// crossing, or that are equal, do not count.
std::vector<Crossing> crossings(const Sweep& sweep);

/// The fastest, as ranges: its name and from where on it is the fastest, which is where it crosses the one before, or
/// the first point of which both are known. Equal times go to the one that came first. By ranks, of powers of two
/// alone.
struct FastestFrom {
  double from = 0;
  std::string algorithm;
  std::vector<std::string> alike = {};  ///< who takes as long at every point of the range
};
std::vector<FastestFrom> fastest(const Sweep& sweep);

/// Whether the last point is a number of ranks that is no power of two, and so compared with none before it.
bool ends_between(const Sweep& sweep);
/// The fastest at the last point; empty where nobody has a price there.
std::string fastest_at_the_end(const Sweep& sweep);

/// Who has no price from one point to another, and so was compared with nobody there.
struct NotCompared {
  std::string algorithm;
  double from = 0;
  double to = 0;
};
std::vector<NotCompared> not_compared(const Sweep& sweep);

}  // namespace lockstep
