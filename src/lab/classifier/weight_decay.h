#pragma once

#include <lockstep/sharded.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <utility>
#include <vector>

namespace lockstep::lab {

/// Two groups of parameters with these options of an optimizer: matrices decay, biases and norms do not.
template <class Options>
std::vector<torch::optim::OptimizerParamGroup> decaying_groups(const Sharded& sharded, const Options& options,
                                                               double weight_decay) {
  std::vector<torch::Tensor> decayed, spared;
  for (const ParameterPiece& piece : sharded.pieces()) {  // which know the shape of what is cut
    (piece.shape.size() >= 2 ? decayed : spared).push_back(piece.parameter);
  }
  const auto group = [&options](std::vector<torch::Tensor> parameters, double decay) {
    auto own = std::make_unique<Options>(options);
    own->weight_decay(decay);
    return torch::optim::OptimizerParamGroup(std::move(parameters), std::move(own));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.push_back(group(std::move(decayed), weight_decay));
  groups.push_back(group(std::move(spared), 0));
  return groups;
}

}  // namespace lockstep::lab
