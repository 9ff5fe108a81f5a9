#pragma once

#include <lockstep/sharded.h>
#include <torch/optim/optimizer.h>

#include <memory>

namespace lockstep::lab {

/// AdamW (Loshchilov and Hutter 2019) whose decay spares biases and norms: parameters with fewer than two dimensions.
std::unique_ptr<torch::optim::Optimizer> make_adamw(const Sharded& sharded, double weight_decay);

}  // namespace lockstep::lab
