#pragma once

#include <cstdint>

namespace lockstep::lab {

/// Linear warm-up, then cosine decay from `peak` to `minimum`, then `minimum` (Loshchilov, Hutter: SGDR, ICLR 2017;
/// with the exact form of nanoGPT).
struct LearningRate {
  double peak = 1e-3;
  double minimum = 1e-4;
  std::int64_t warmup = 100;  ///< iterations
  std::int64_t decay = 2000;  ///< the iteration after which it stays at `minimum`

  /// For iteration 1, 2, ...
  double at(std::int64_t iteration) const;
};

}  // namespace lockstep::lab
