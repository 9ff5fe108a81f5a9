#pragma once

#include <lockstep/group.h>
#include <torch/data/example.h>
#include <torch/types.h>

#include <cstdint>

namespace lockstep {

/// Which samples this rank sees: epoch e visits all `dataset_size` samples once, in an order that depends on (seed, epoch)
/// only, cut into global batches of m = `global_batch` (the last one may be shorter, unless `drop_last`); rank r of p takes the
/// samples [m r / p, m (r + 1) / p) of each. So any number of ranks sees the same global batches.
struct LoaderOptions {
  std::int64_t global_batch = 0;    ///< samples an iteration on all ranks together; or say per_rank_batch
  std::int64_t per_rank_batch = 0;  ///< samples an iteration on each rank (PyTorch's habit); exactly one of the two is set
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;
};

}  // namespace lockstep
