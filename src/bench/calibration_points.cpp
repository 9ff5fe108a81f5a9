#include "bench/calibration_points.h"

#include "schedule/promise.h"

#include <algorithm>

namespace lockstep::bench {

namespace {

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::vector<Point> other_points(Medium medium, int ranks) {
  const std::vector<std::size_t> sizes = sizes_from(4, 4);
  std::vector<Collective> others;
  for (const Collective collective : kCollectives) {
    const std::vector<Collective>& fitted = fitted_collectives();
    const bool is_fitted = std::find(fitted.begin(), fitted.end(), collective) != fitted.end();
    if (!is_fitted && collective != Collective::kBarrier) others.push_back(collective);
  }
  std::vector<Point> points = points_at(others, sizes, ranks);
  if (medium != Medium::kSharedMemory) return points;
  append(others, fitted_collectives());
  append(points, points_at(others, sizes, ranks, MemoryKind::kPlain));
  return points;
}

}  // namespace

const std::vector<Collective>& fitted_collectives() {
  static const std::vector<Collective> kFitted{Collective::kAllReduce, Collective::kAllGather};
  return kFitted;
}

CalibrationPoints calibration_points(Medium medium, const Numbers& numbers) {
  std::vector<std::size_t> sizes = known_sizes(medium);
  append(sizes, held_back_sizes());
  std::sort(sizes.begin(), sizes.end());
  CalibrationPoints points;
  for (const auto* some : {&numbers.known, &numbers.held_back}) {
    for (const int ranks : *some) {
      append(points.fitted, points_at(fitted_collectives(), sizes, ranks));
      append(points.others, other_points(medium, ranks));
    }
  }
  return points;
}

}  // namespace lockstep::bench
