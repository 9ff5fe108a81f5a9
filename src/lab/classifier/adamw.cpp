#include "lab/classifier/adamw.h"

#include <torch/optim/adamw.h>

#include "lab/classifier/weight_decay.h"

namespace lockstep::lab {

std::unique_ptr<torch::optim::Optimizer> make_adamw(const Sharded& sharded, double weight_decay) {
  const torch::optim::AdamWOptions options;
  return std::make_unique<torch::optim::AdamW>(decaying_groups(sharded, options, weight_decay), options);
}

}  // namespace lockstep::lab
