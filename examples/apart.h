#pragma once

#include <lockstep/group.h>
#include <torch/torch.h>

#include <vector>

/// How far apart the ranks' tensors are: 0 where all have the same.
inline double apart(const lockstep::Group& group, const std::vector<torch::Tensor>& tensors) {
  double squares = 0;  // one number that differs where they do
  for (const auto& tensor : tensors) squares += tensor.detach().to(torch::kFloat64).square().sum().item<double>();
  std::vector<double> ends = {squares, -squares};
  group.all_reduce(lockstep::buffer_of(ends), lockstep::ReduceOp::kMax).wait();
  return ends[0] + ends[1];
}
