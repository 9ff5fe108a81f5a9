#include "lab/optimizer_state.h"

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/optimizer_key.h"

namespace lockstep::lab {

namespace {

using torch::optim::AdamWParamState;

std::vector<torch::Tensor> parameters_of(const torch::optim::AdamW& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return parameters;
}

torch::Tensor read(torch::serialize::InputArchive& archive, const std::string& name, const torch::Tensor& like) {
  torch::Tensor tensor;
  archive.read(name, tensor, /*is_buffer=*/true);
  TORCH_CHECK(tensor.sizes() == like.sizes(), name, " has another shape");
  return tensor;
}

}  // namespace

void save_state(torch::serialize::OutputArchive& archive, const torch::optim::AdamW& optimizer) {
  const auto parameters = parameters_of(optimizer);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto found = optimizer.state().find(key_in(optimizer.state(), parameters[i]));
    if (found == optimizer.state().end()) continue;  // never updated
    const auto& state = static_cast<const AdamWParamState&>(*found->second);
    const std::string number = std::to_string(i);
    archive.write("step" + number, c10::IValue(state.step()));
    archive.write("mean" + number, state.exp_avg(), /*is_buffer=*/true);
    archive.write("square" + number, state.exp_avg_sq(), /*is_buffer=*/true);
  }
}

void load_state(torch::serialize::InputArchive& archive, torch::optim::AdamW& optimizer) {
  const auto parameters = parameters_of(optimizer);
  optimizer.state().clear();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string number = std::to_string(i);
    c10::IValue step;
    if (!archive.try_read("step" + number, step)) continue;
    auto state = std::make_unique<AdamWParamState>();
    state->step(step.toInt());
    state->exp_avg(read(archive, "mean" + number, parameters[i]));
    state->exp_avg_sq(read(archive, "square" + number, parameters[i]));
    optimizer.state()[key_in(optimizer.state(), parameters[i])] = std::move(state);
  }
}

}  // namespace lockstep::lab
