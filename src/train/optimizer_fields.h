#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep {

/// A number or a tensor of the state that an optimizer keeps for a parameter.
using OptimizerField = std::variant<std::int64_t*, torch::Tensor*>;

/// The fields of a parameter's state by their names in torch ("step", "exp_avg"), for all optimizers whose state is
/// element-wise. Empty for a state of another kind.
std::vector<std::pair<std::string, OptimizerField>> fields_of(torch::optim::OptimizerParamState& state);

/// A state with nothing in it, as the optimizer would make one. Throws Error (kUnsupported) for an optimizer whose
/// state is not element-wise (LBFGS), or that is not known here.
std::unique_ptr<torch::optim::OptimizerParamState> make_state(const torch::optim::Optimizer& optimizer);

/// The state that the optimizer keeps for a parameter; null if it never updated it.
torch::optim::OptimizerParamState* find_state(const torch::optim::Optimizer& optimizer, const torch::Tensor& parameter);
/// Replaces it; null removes it.
void put_state(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter,
               std::unique_ptr<torch::optim::OptimizerParamState> state);

}  // namespace lockstep
