#pragma once

/// A training of the small network with all that a checkpoint remembers of one.

#include <lockstep/train.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/test_errors.h"
#include "train/test_model.h"

namespace lockstep::test {

/// One rank of it. Nothing is tied to its ranks, so that a run can go on with others.
struct Training {
  explicit Training(const Group& group, std::uint64_t seed = 1)
      : net(make_net(seed)),
        replica(group, *net),
        optimizer(net->parameters(), torch::optim::AdamOptions(1e-2).amsgrad(true)),
        loader(make_loader(spots(), group, spots_options())) {
    state.module("model", *net).optimizer("optimizer", optimizer, *net).loader("loader", *loader);
    state.counter("iteration", iteration);
  }

  /// Until so many iterations are done in all; calls `after` after each.
  void train(
      std::int64_t iterations, const std::function<void()>& after = [] {}) {
    while (iteration < iterations) {
      for (auto& batch : loader->epoch()) {
        optimizer.zero_grad();
        torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
        optimizer.step();
        ++iteration;
        after();
        if (iteration == iterations) break;
      }
    }
  }

  torch::Tensor parameters() const { return flat_parameters(*net).clone(); }

  std::shared_ptr<SmallNet> net;
  DataParallel replica;
  torch::optim::Adam optimizer;
  std::unique_ptr<Loader> loader;
  std::int64_t iteration = 0;
  TrainingState state;
};

}  // namespace lockstep::test
