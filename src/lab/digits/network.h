#pragma once

#include <lockstep/group.h>
#include <torch/nn/modules/container/sequential.h>

#include <string>

namespace lockstep::lab {

/// A small convolutional network for digits of 28 x 28: {samples, 1, 28, 28} to logits {samples, 10}; two convolutions,
/// each with a normalisation (see norm_names) before it is rectified and pooled, and two linear layers, of which the
/// first has one too if `norm_linear`.
torch::nn::Sequential digits_network(const std::string& norm, bool norm_linear, const Group& group);

}  // namespace lockstep::lab
