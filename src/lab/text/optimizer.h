#pragma once

#include <torch/nn/module.h>
#include <torch/optim/adamw.h>

namespace lockstep::lab {

/// AdamW with beta 0.9 and 0.99, in two groups: matrices decay, vectors (norms) do not.
torch::optim::AdamW make_optimizer(const torch::nn::Module& model, double weight_decay);

}  // namespace lockstep::lab
