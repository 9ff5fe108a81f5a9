#pragma once

#include <fmt/format.h>
#include <lockstep/world.h>
#include <torch/torch.h>

#include <vector>

namespace lockstep::test {

/// How far this rank's training is from that of one process, and whether all ranks have the same bits.
inline void print_difference(const World& world, const torch::Tensor& change, const torch::Tensor& expected) {
  fmt::print("difference {:e}\n", ((change - expected).norm() / expected.norm()).item<double>());

  std::vector<float> largest(change.data_ptr<float>(), change.data_ptr<float>() + change.numel());
  auto smallest = largest;
  world.all_reduce(buffer_of(largest), ReduceOp::kMax).wait();
  world.all_reduce(buffer_of(smallest), ReduceOp::kMin).wait();
  fmt::print("bits {}\n", largest == smallest ? "equal" : "differ");
}

}  // namespace lockstep::test
