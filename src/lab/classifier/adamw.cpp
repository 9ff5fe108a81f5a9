#include "lab/classifier/adamw.h"

#include <torch/optim/adamw.h>

#include <utility>
#include <vector>

namespace lockstep::lab {

std::unique_ptr<torch::optim::Optimizer> make_adamw(const Sharded& sharded, double weight_decay) {
  using torch::optim::AdamWOptions;
  std::vector<torch::Tensor> decayed, spared;
  for (const ParameterPiece& piece : sharded.pieces()) {  // which know the shape of what is cut
    (piece.shape.size() >= 2 ? decayed : spared).push_back(piece.parameter);
  }
  const auto group = [](std::vector<torch::Tensor> parameters, double decay) {
    auto options = std::make_unique<AdamWOptions>();
    options->weight_decay(decay);
    return torch::optim::OptimizerParamGroup(std::move(parameters), std::move(options));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.push_back(group(std::move(decayed), weight_decay));
  groups.push_back(group(std::move(spared), 0));
  return std::make_unique<torch::optim::AdamW>(std::move(groups), AdamWOptions());
}

}  // namespace lockstep::lab
