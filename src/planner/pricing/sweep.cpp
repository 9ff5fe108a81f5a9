#include "planner/pricing/sweep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace lockstep {

namespace {

/// So much is simulated for one point of a curve, of which there are dozens.
constexpr double kMostTransfersAPoint = 2e5;
/// And more where all points of the sweep together stay below this.
constexpr double kMostTransfersASweep = 1.6e7;
/// What the curves of a sweep may look at together (Effort), which is some ten seconds.
constexpr double kEffortASweep = 3e8;
/// Times nearer than this are the same: the simulation rounds.
constexpr double kSame = 1e-6;

/// These, and the one that is asked for, which may lie between them.
std::vector<double> doubling(double first, double last, double asked) {
  std::vector<double> points;
  for (double point = first; point < last * (1 - kSame); point *= 2) points.push_back(point);
  points.push_back(last);
  const auto next = std::lower_bound(points.begin(), points.end(), asked);
  if (asked >= first && next != points.end() && *next != asked) points.insert(next, asked);
  return points;
}

/// A curve before it is priced.
struct Planned {
  std::optional<ClosedForm> form;
  double transfers = 0;  ///< of its schedule, where there is no form
};

PriceRequest request_at(Sweep::Axis axis, double point, PriceRequest request) {
  if (axis == Sweep::Axis::kBytes) {
    request.bytes = point;
  } else {
    request.ranks = static_cast<int>(point);
    request.root = std::min(request.root, request.ranks - 1);
  }
  return request;
}

/// Of each point. By bytes it is the same everywhere.
std::vector<Planned> planned(Sweep::Axis axis, const std::vector<double>& points, std::string_view algorithm,
                             const PriceRequest& request, const PricedNetwork& network) {
  std::vector<Planned> plan;
  for (const double point : points) {
    if (axis == Sweep::Axis::kBytes && !plan.empty()) {
      plan.push_back(plan.front());
      continue;
    }
    const PriceRequest there = request_at(axis, point, request);
    Planned one{.form = closed_form_for(algorithm, there, network)};
    if (!one.form) one.transfers = estimated_transfers(algorithm, there, network);
    plan.push_back(std::move(one));
  }
  return plan;
}

/// The longest schedule that is simulated: the shorter ones first, until there is no time for more.
double longest_simulated(const std::vector<std::vector<Planned>>& plans) {
  std::vector<double> transfers;
  for (const auto& plan : plans) {
    for (const Planned& point : plan) transfers.push_back(point.transfers);
  }
  std::sort(transfers.begin(), transfers.end());
  double longest = 0;
  double sum = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    sum += transfers[i];
    if (sum > kMostTransfersASweep) break;
    const bool is_last_of_equals = i + 1 == transfers.size() || transfers[i + 1] > transfers[i];
    if (is_last_of_equals) longest = transfers[i];
  }
  return std::max(longest, kMostTransfersAPoint);
}

/// So that what these leave of their part goes to the others.
std::vector<std::size_t> shortest_first(const std::vector<std::vector<Planned>>& plans) {
  const auto transfers = [&](std::size_t i) {
    return std::accumulate(plans[i].begin(), plans[i].end(), 0.0,
                           [](double sum, const Planned& point) { return sum + point.transfers; });
  };
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return transfers(a) < transfers(b); });
  return order;
}

void set(Sweep::Curve& curve, std::size_t i, std::optional<double> seconds, Price::Source source) {
  curve.seconds[i] = seconds;
  curve.sources[i] = seconds ? source : Price::Source::kNone;
}

using SecondsOf = std::function<std::optional<double>(double bytes)>;

/// Fills what lies between two points that are known: where the curve is straight, as their line says, which one in the
/// middle tells; else each half alike. What cannot be known stays open.
void fill_between(const std::vector<double>& points, std::size_t first, std::size_t last, const SecondsOf& seconds_of,
                  std::vector<std::optional<double>>& seconds) {
  constexpr double kStraight = 1e-9;
  if (last - first < 2) return;
  const auto on_line = [&](std::size_t i) {
    const double share = (points[i] - points[first]) / (points[last] - points[first]);
    return std::lerp(*seconds[first], *seconds[last], share);
  };
  const std::size_t middle = first + (last - first) / 2;
  seconds[middle] = seconds_of(points[middle]);
  if (!seconds[middle]) return;
  if (std::abs(*seconds[middle] - on_line(middle)) <= kStraight * *seconds[middle]) {
    for (std::size_t i = first + 1; i < last; ++i) seconds[i] = on_line(i);
    return;
  }
  fill_between(points, first, middle, seconds_of, seconds);
  fill_between(points, middle, last, seconds_of, seconds);
}

/// One schedule at every size: up to the first that it took too much to know.
std::vector<std::optional<double>> simulated_over_bytes(const std::vector<double>& points,
                                                        const SecondsOf& seconds_of) {
  std::vector<std::optional<double>> seconds(points.size());
  seconds.front() = seconds_of(points.front());
  if (seconds.front()) seconds.back() = seconds_of(points.back());
  if (seconds.back()) fill_between(points, 0, points.size() - 1, seconds_of, seconds);
  const auto first_open = std::find(seconds.begin(), seconds.end(), std::nullopt);
  std::fill(first_open, seconds.end(), std::nullopt);
  return seconds;
}

/// Takes what it takes from the request's effort.
Sweep::Curve priced(const Sweep& sweep, const std::vector<Planned>& plan, const std::string& algorithm,
                    PriceRequest& request, const PricedNetwork& network) {
  const Sweep::Axis axis = sweep.axis;
  const std::vector<double>& points = sweep.points;
  Sweep::Curve curve{algorithm, std::vector<std::optional<double>>(points.size()),
                     std::vector<Price::Source>(points.size(), Price::Source::kNone)};
  const Price::Source simulated = network.calibration ? Price::Source::kCalibrated : Price::Source::kSimulated;
  const auto timed = [&](const PriceRequest& there) {
    return timing(schedule_for(algorithm, there, network.hosts_of(there.ranks)), network, &request.most_effort);
  };
  const auto may_simulate = [&](std::size_t i) {
    return !plan[i].form && request.most_effort.looked_at > 0 && plan[i].transfers <= request.most_transfers;
  };
  if (axis == Sweep::Axis::kBytes && may_simulate(0)) {
    const SecondsOf seconds_of = timed(request);
    if (network.calibration) {
      std::transform(points.begin(), points.end(), curve.seconds.begin(), seconds_of);
    } else {
      curve.seconds = simulated_over_bytes(points, seconds_of);
    }
    for (std::size_t i = 0; i < points.size(); ++i) set(curve, i, curve.seconds[i], simulated);
    return curve;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PriceRequest there = request_at(axis, points[i], request);
    if (plan[i].form) {
      set(curve, i, plan[i].form->evaluate(there.ranks, there.bytes, *network.flat).seconds,
          Price::Source::kClosedForm);
    } else if (may_simulate(i)) {
      set(curve, i, timed(there)(there.bytes), simulated);
    }
  }
  return curve;
}

/// What a row prices is known at its point.
void take_from_rows(Sweep& sweep, const std::vector<Price>& rows, double asked) {
  const auto point = std::find(sweep.points.begin(), sweep.points.end(), asked);
  if (point == sweep.points.end()) return;
  const auto i = static_cast<std::size_t>(point - sweep.points.begin());
  for (Sweep::Curve& curve : sweep.curves) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Price& price) {
      return price.algorithm == curve.algorithm && price.source != Price::Source::kNone;
    });
    if (!curve.seconds[i] && row != rows.end()) set(curve, i, row->estimate.seconds, row->source);
  }
}

/// -1: a is faster, 1: b is, 0: the same or unknown.
int compare(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || std::abs(*a - *b) <= kSame * std::max(*a, *b)) return 0;
  return *a < *b ? -1 : 1;
}

/// The share of the way from one point to another at which two curves meet; by ranks all of it. Where they are equal at
/// a point it is there.
double meeting_share(const Sweep& sweep, const Sweep::Curve& a, const Sweep::Curve& b, std::size_t i, std::size_t j) {
  if (sweep.axis == Sweep::Axis::kRanks) return 1;
  if (compare(a.seconds[i], b.seconds[i]) == 0) return 0;
  if (compare(a.seconds[j], b.seconds[j]) == 0) return 1;
  const auto distance = [&](std::size_t at) { return *a.seconds[at] - *b.seconds[at]; };
  return distance(i) / (distance(i) - distance(j));
}

/// How many of its points are compared with each other.
std::size_t compared_points(const Sweep& sweep) { return sweep.points.size() - (ends_between(sweep) ? 1 : 0); }

void find_crossings(const Sweep& sweep, const Sweep::Curve& a, const Sweep::Curve& b, std::vector<Crossing>& found) {
  int faster = 0;                     // at the last point at which one was
  std::optional<std::size_t> before;  // the last point of which both are known
  for (std::size_t i = 0; i < compared_points(sweep); ++i) {
    if (!a.seconds[i] || !b.seconds[i]) continue;
    const int order = compare(a.seconds[i], b.seconds[i]);
    if (order != 0 && faster != 0 && order != faster) {
      const double share = meeting_share(sweep, a, b, *before, i);
      const Sweep::Curve& below = order < 0 ? b : a;
      const Sweep::Curve& above = order < 0 ? a : b;
      found.push_back({below.algorithm, above.algorithm, std::lerp(sweep.points[*before], sweep.points[i], share),
                       std::lerp(*above.seconds[*before], *above.seconds[i], share)});
    }
    if (order != 0) faster = order;
    before = i;
  }
}

const Sweep::Curve* fastest_curve(const Sweep& sweep, std::size_t i) {
  const Sweep::Curve* best = nullptr;
  for (const Sweep::Curve& curve : sweep.curves) {
    if (!curve.seconds[i]) continue;
    if (best == nullptr || compare(curve.seconds[i], best->seconds[i]) < 0) best = &curve;
  }
  return best;
}

/// How the fastest change from one point to the next: where the present one meets the first that is faster behind.
void add_changes(const Sweep& sweep, std::size_t i, const Sweep::Curve* best, const Sweep::Curve* last,
                 std::vector<FastestFrom>& ranges) {
  double from = 0;
  while (best != last && best->seconds[i - 1] && best->seconds[i]) {
    const Sweep::Curve* next = nullptr;
    double share = 1;
    for (const Sweep::Curve& curve : sweep.curves) {
      if (!curve.seconds[i - 1] || compare(curve.seconds[i], best->seconds[i]) >= 0) continue;
      const double meets = std::max(from, meeting_share(sweep, *best, curve, i - 1, i));
      const bool is_lower = next != nullptr && meets == share && compare(curve.seconds[i], next->seconds[i]) < 0;
      if (next != nullptr && meets >= share && !is_lower) continue;
      next = &curve;
      share = meets;
    }
    if (next == nullptr) break;
    const double at = std::lerp(sweep.points[i - 1], sweep.points[i], share);
    if (ranges.back().from == at) ranges.pop_back();  // who are equal at the first point leave an empty range
    ranges.push_back({at, next->algorithm});
    best = next;
    from = share;
  }
  if (ranges.back().algorithm == last->algorithm) return;
  if (ranges.back().from == sweep.points[i]) ranges.pop_back();
  ranges.push_back({sweep.points[i], last->algorithm});
}

const Sweep::Curve& curve_of(const Sweep& sweep, const std::string& algorithm) {
  return *std::find_if(sweep.curves.begin(), sweep.curves.end(),
                       [&](const Sweep::Curve& curve) { return curve.algorithm == algorithm; });
}

/// Those that take as long as `best` at every point from one place to before another, if there are any.
std::vector<std::string> alike(const Sweep& sweep, const Sweep::Curve& best, double from, double to) {
  std::vector<std::size_t> within;
  for (std::size_t i = 0; i < compared_points(sweep); ++i) {
    if (sweep.points[i] >= from && sweep.points[i] < to) within.push_back(i);
  }
  std::vector<std::string> names;
  for (const Sweep::Curve& curve : sweep.curves) {
    const bool is_alike = std::all_of(within.begin(), within.end(), [&](std::size_t i) {
      return curve.seconds[i] && best.seconds[i] && compare(curve.seconds[i], best.seconds[i]) == 0;
    });
    if (is_alike && !within.empty() && &curve != &best) names.push_back(curve.algorithm);
  }
  return names;
}

}  // namespace

Sweep sweep(Sweep::Axis axis, const std::vector<std::string>& algorithms, const PriceRequest& request,
            const PricedNetwork& network, const std::vector<Price>& rows) {
  const double least_bytes = std::min(64.0, std::max(1.0, request.bytes));
  const double most_bytes = std::max(static_cast<double>(1 << 30), request.bytes);
  const bool is_of_bytes = axis == Sweep::Axis::kBytes;
  Sweep result{.axis = axis, .points = {}, .curves = {}};
  result.points = is_of_bytes ? doubling(least_bytes, most_bytes, request.bytes)
                              : doubling(std::min(2, request.ranks), request.ranks, request.ranks);
  std::vector<std::vector<Planned>> plans;
  plans.reserve(algorithms.size());
  for (const std::string& algorithm : algorithms) {
    plans.push_back(planned(axis, result.points, algorithm, request, network));
  }
  PriceRequest bounded = request;
  bounded.most_transfers = std::min(request.most_transfers, longest_simulated(plans));
  result.curves.resize(algorithms.size());
  double looked_at = kEffortASweep;
  std::size_t to_come = algorithms.size();
  for (const std::size_t i : shortest_first(plans)) {
    const double part = looked_at / static_cast<double>(to_come--);
    bounded.most_effort.looked_at = part;
    result.curves[i] = priced(result, plans[i], algorithms[i], bounded, network);
    looked_at -= part - bounded.most_effort.looked_at;
  }
  take_from_rows(result, rows, is_of_bytes ? request.bytes : request.ranks);
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

bool ends_between(const Sweep& sweep) {
  return sweep.axis == Sweep::Axis::kRanks && sweep.points.size() > 1 &&
         !std::has_single_bit(static_cast<unsigned>(sweep.points.back()));
}

std::vector<FastestFrom> fastest(const Sweep& sweep) {
  std::vector<FastestFrom> ranges;
  const Sweep::Curve* best = nullptr;
  for (std::size_t i = 0; i < compared_points(sweep); ++i) {
    const Sweep::Curve* here = fastest_curve(sweep, i);
    if (here == nullptr) continue;
    if (best == nullptr) {
      ranges.push_back({sweep.points[i], here->algorithm});
    } else {
      add_changes(sweep, i, best, here, ranges);
    }
    best = here;
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double to = i + 1 < ranges.size() ? ranges[i + 1].from : std::numeric_limits<double>::infinity();
    ranges[i].alike = alike(sweep, curve_of(sweep, ranges[i].algorithm), ranges[i].from, to);
  }
  return ranges;
}

std::string fastest_at_the_end(const Sweep& sweep) {
  const Sweep::Curve* best = sweep.points.empty() ? nullptr : fastest_curve(sweep, sweep.points.size() - 1);
  return best == nullptr ? std::string() : best->algorithm;
}

std::vector<NotCompared> not_compared(const Sweep& sweep) {
  std::vector<NotCompared> found;
  for (const Sweep::Curve& curve : sweep.curves) {
    bool is_open = false;
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
      if (curve.seconds[i]) {
        is_open = false;
      } else if (is_open) {
        found.back().to = sweep.points[i];
      } else {
        found.push_back({curve.algorithm, sweep.points[i], sweep.points[i]});
        is_open = true;
      }
    }
  }
  return found;
}

}  // namespace lockstep
