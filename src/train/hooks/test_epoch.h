#pragma once

#include <lockstep/train.h>

#include <cstdint>

namespace lockstep::test {

/// Trains a network of classes for one epoch, in batches of 64 over all ranks; `seed` is that of the samples' order.
template <class Data, class Optimizer>
void train_epoch(const Group& group, torch::nn::Sequential net, const Data& data, Optimizer& optimizer,
                 std::uint64_t seed = 5) {
  const auto loader = make_loader(data, group, {.global_batch = 64, .seed = seed});
  for (auto& batch : loader->epoch()) {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
    optimizer.step();
  }
}

}  // namespace lockstep::test
