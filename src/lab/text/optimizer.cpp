#include "lab/text/optimizer.h"

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace lockstep::lab {

torch::optim::AdamW make_optimizer(const torch::nn::Module& model, double weight_decay) {
  using torch::optim::AdamWOptions;
  std::vector<torch::Tensor> matrices, vectors;
  for (const torch::Tensor& parameter : model.parameters()) {
    (parameter.dim() >= 2 ? matrices : vectors).push_back(parameter);
  }
  const auto options = AdamWOptions().betas(std::make_tuple(0.9, 0.99));
  const auto group = [&](std::vector<torch::Tensor> parameters, double decay) {
    return torch::optim::OptimizerParamGroup(std::move(parameters),
                                             std::make_unique<AdamWOptions>(AdamWOptions(options).weight_decay(decay)));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.push_back(group(std::move(matrices), weight_decay));
  groups.push_back(group(std::move(vectors), 0));
  return torch::optim::AdamW(std::move(groups), options);
}

}  // namespace lockstep::lab
