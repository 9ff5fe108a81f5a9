#pragma once

#include <torch/data/example.h>
#include <torch/data/transforms/base.h>

#include <cstdint>
#include <vector>

namespace lockstep {

/// What stacks samples of different lengths: each `data`, of shape [length, ...], is followed by `value` up to the
/// longest of them. Targets with a dimension (a label a token) are padded likewise with `target_value`, which is the
/// label that torch's cross entropy ignores; scalar ones are stacked.
///
///   auto loader = lockstep::make_loader(dataset.map(lockstep::Pad()), world,
///                                       {.global_batch = 64, .lengths = lengths});
///   for (auto& batch : loader->epoch()) {
///     auto output = net->forward(batch.data, lockstep::padding_mask(batch.lengths));
///     ...
///   }
class Pad
    : public torch::data::transforms::BatchTransform<std::vector<torch::data::Example<>>, torch::data::Example<>> {
 public:
  explicit Pad(double value = 0, double target_value = -100) : value_(value), target_value_(target_value) {}
  /// Throws Error (kInvalidArgument), naming the sample, for one whose shape does not fit the first one's.
  torch::data::Example<> apply_batch(std::vector<torch::data::Example<>> examples) override;

 private:
  double value_;
  double target_value_;
};

/// Of type bool and shape [samples, longest], true where there is padding: what torch::nn::MultiheadAttention takes as
/// its key_padding_mask. `lengths` are those of a Batch: of an integer type and shape [samples], one or more of them.
/// Throws Error (kInvalidArgument) for others, and for none, which is what a loader gives that was not told `lengths`.
torch::Tensor padding_mask(const torch::Tensor& lengths);

}  // namespace lockstep
