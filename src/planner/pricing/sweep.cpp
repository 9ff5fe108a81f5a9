#include "planner/pricing/sweep.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

namespace {

/// So much may be simulated for one point of a curve, of which there are dozens.
constexpr double kMostTransfersAPoint = 2e5;
/// Times nearer than this are the same: the simulation rounds.
constexpr double kSame = 1e-6;

std::vector<double> doubling(double first, double last) {
  std::vector<double> points;
  for (double point = first; point < last * (1 - kSame); point *= 2) points.push_back(point);
  points.push_back(last);
  return points;
}

std::vector<std::optional<double>> over_ranks(const std::vector<double>& points, std::string_view algorithm,
                                              PriceRequest request, const PricedNetwork& network) {
  std::vector<std::optional<double>> seconds;
  for (const double ranks : points) {
    request.ranks = static_cast<int>(ranks);
    const auto form = closed_form_for(algorithm, request, network);
    if (form) {
      seconds.push_back(form->evaluate(ranks, request.bytes, *network.flat).seconds);
    } else if (estimated_transfers(algorithm, request, network) <= request.most_transfers) {
      const Schedule schedule = schedule_for(algorithm, request, network.hosts_of(request.ranks));
      seconds.push_back(timing(schedule, network)(request.bytes));
    } else {
      seconds.push_back(std::nullopt);
    }
  }
  return seconds;
}

/// The schedule is the same at every size.
std::vector<std::optional<double>> over_bytes(const std::vector<double>& points, std::string_view algorithm,
                                              const PriceRequest& request, const PricedNetwork& network) {
  std::vector<std::optional<double>> seconds;
  const auto form = closed_form_for(algorithm, request, network);
  if (form) {
    for (const double bytes : points) seconds.push_back(form->evaluate(request.ranks, bytes, *network.flat).seconds);
    return seconds;
  }
  if (estimated_transfers(algorithm, request, network) > request.most_transfers) {
    return std::vector<std::optional<double>>(points.size());
  }
  const auto seconds_of = timing(schedule_for(algorithm, request, network.hosts_of(request.ranks)), network);
  for (const double bytes : points) seconds.push_back(seconds_of(bytes));
  return seconds;
}

/// -1: a is faster, 1: b is, 0: the same or unknown.
int compare(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || std::abs(*a - *b) <= kSame * std::max(*a, *b)) return 0;
  return *a < *b ? -1 : 1;
}

/// Where two curves meet that are straight between two points on paper with logarithmic axes and from where on `a` is
/// faster.
Crossing meeting(const Sweep& sweep, const Sweep::Curve& a, const Sweep::Curve& b, std::size_t i, std::size_t j) {
  const auto distance = [&](std::size_t at) { return std::log(*a.seconds[at] / *b.seconds[at]); };
  const double share = distance(i) / (distance(i) - distance(j));
  const auto between = [share](double first, double last) { return first * std::pow(last / first, share); };
  return {b.algorithm, a.algorithm, between(sweep.points[i], sweep.points[j]), between(*a.seconds[i], *a.seconds[j])};
}

void find_crossings(const Sweep& sweep, const Sweep::Curve& a, const Sweep::Curve& b, std::vector<Crossing>& found) {
  std::optional<std::size_t> last;  // the last point at which one was faster
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const int order = compare(a.seconds[i], b.seconds[i]);
    if (order == 0) continue;
    if (last && compare(a.seconds[*last], b.seconds[*last]) != order) {
      found.push_back(order < 0 ? meeting(sweep, a, b, *last, i) : meeting(sweep, b, a, *last, i));
    }
    last = i;
  }
}

}  // namespace

Sweep sweep(Sweep::Axis axis, const std::vector<std::string>& algorithms, const PriceRequest& request,
            const PricedNetwork& network) {
  constexpr double kLeastBytes = 64;
  constexpr double kMostBytes = 1 << 30;
  Sweep result{.axis = axis, .points = {}, .curves = {}};
  PriceRequest bounded = request;
  const int most_ranks = network.description ? request.ranks : std::max(2, request.ranks);
  bounded.most_transfers = std::min(request.most_transfers, kMostTransfersAPoint);
  result.points =
      axis == Sweep::Axis::kBytes ? doubling(kLeastBytes, kMostBytes) : doubling(std::min(2, most_ranks), most_ranks);
  for (const std::string& algorithm : algorithms) {
    result.curves.push_back({algorithm, axis == Sweep::Axis::kBytes
                                            ? over_bytes(result.points, algorithm, bounded, network)
                                            : over_ranks(result.points, algorithm, bounded, network)});
  }
  return result;
}

std::vector<Crossing> crossings(const Sweep& sweep) {
  std::vector<Crossing> found;
  for (std::size_t a = 0; a < sweep.curves.size(); ++a) {
    for (std::size_t b = a + 1; b < sweep.curves.size(); ++b) {
      find_crossings(sweep, sweep.curves[a], sweep.curves[b], found);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Crossing& a, const Crossing& b) { return a.at < b.at; });
  return found;
}

std::vector<FastestFrom> fastest(const Sweep& sweep) {
  std::vector<FastestFrom> ranges;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Sweep::Curve* best = nullptr;
    for (const Sweep::Curve& curve : sweep.curves) {
      if (!curve.seconds[i]) continue;
      if (best == nullptr || compare(curve.seconds[i], best->seconds[i]) < 0) best = &curve;
    }
    if (best == nullptr || (!ranges.empty() && ranges.back().algorithm == best->algorithm)) continue;
    ranges.push_back({sweep.points[i], best->algorithm});
  }
  return ranges;
}

}  // namespace lockstep
