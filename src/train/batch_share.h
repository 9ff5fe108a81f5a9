#pragma once

#include <cstdint>

namespace lockstep {

/// How much this rank's next backward weighs: its loss is a mean over `local` samples, those of all ranks over
/// `global`. A loader and the replicas of the same group share it as the group's attribute. global = 0: nobody said,
/// all ranks weigh the same.
struct BatchShare {
  std::int64_t local = 0;
  std::int64_t global = 0;

  /// What a gradient is to be multiplied with so that the plain mean over `ranks` ranks is the mean over samples.
  double factor(int ranks) const {
    return global == 0 ? 1.0 : static_cast<double>(local) * ranks / static_cast<double>(global);
  }
};

}  // namespace lockstep
