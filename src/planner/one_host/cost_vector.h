#pragma once

#include <array>
#include <cstddef>

namespace lockstep {

/// How much there is of each kind of cost, or the seconds that one of each takes; their product is the time. `Kinds`
/// names them by an enum that begins with 0 and ends with kCount.
template <class Kinds>
struct CostVector : Kinds {
  std::array<double, Kinds::kCount> values{};

  double& operator[](std::size_t kind) { return values[kind]; }
  double operator[](std::size_t kind) const { return values[kind]; }

  friend double operator*(const CostVector& amounts, const CostVector& seconds) {
    double sum = 0;
    for (std::size_t i = 0; i < Kinds::kCount; ++i) sum += amounts[i] * seconds[i];
    return sum;
  }
};

}  // namespace lockstep
