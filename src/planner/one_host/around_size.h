#pragma once

#include <cstddef>

namespace lockstep {

/// What a model says of a size, as the mean of what `work_of(bytes)`, a CostVector, is there and a quarter below and
/// above. Who waits for whom changes at some size, where times go up or down at once; a model whose prices are a few
/// percent wrong has that elsewhere, and is wrong by all of the leap on the sizes between. So it is right about the
/// leap, and wrong by a part of it around. Small buffers, whose chunks may have no bytes, are taken as they are.
template <class WorkOf>
auto mean_around(double bytes, const WorkOf& work_of) {
  constexpr double kSmall = 64 << 10;
  constexpr double kQuarter = 0.25;
  auto mean = work_of(bytes);
  if (bytes < kSmall) return mean;
  for (const double size : {(1 - kQuarter) * bytes, (1 + kQuarter) * bytes}) {
    const auto work = work_of(size);
    for (std::size_t cost = 0; cost < mean.values.size(); ++cost) mean[cost] += work[cost];
  }
  for (double& amount : mean.values) amount /= 3;
  return mean;
}

}  // namespace lockstep
