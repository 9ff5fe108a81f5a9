#pragma once

#include <torch/types.h>

#include <cstdint>

namespace lockstep {

/// Torch's generator of random numbers, seeded anew for each micro-batch; when this goes, the generator is as it was.
class MicroBatchGenerator {
 public:
  MicroBatchGenerator();
  ~MicroBatchGenerator();
  MicroBatchGenerator(const MicroBatchGenerator&) = delete;
  MicroBatchGenerator& operator=(const MicroBatchGenerator&) = delete;

  void seed(std::uint64_t seed, std::int64_t iteration, std::int64_t micro_batch) const;

 private:
  torch::Tensor state_;
};

}  // namespace lockstep
