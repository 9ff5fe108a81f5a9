#include "lab/text/optimizer_state.h"

#include "train/optimizer_fields.h"

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

namespace lockstep::lab {

namespace {

std::vector<torch::Tensor> parameters_of(const torch::optim::AdamW& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return parameters;
}

/// Reads a field of `like`'s state; false if the archive has none.
bool read(torch::serialize::InputArchive& archive, const std::string& name, OptimizerField field,
          const torch::Tensor& like) {
  if (auto* const* number = std::get_if<std::int64_t*>(&field)) {
    c10::IValue value;
    if (!archive.try_read(name, value)) return false;
    **number = value.toInt();
    return true;
  }
  torch::Tensor& tensor = *std::get<torch::Tensor*>(field);
  if (!archive.try_read(name, tensor, /*is_buffer=*/true)) return false;
  TORCH_CHECK(tensor.sizes() == like.sizes(), name, " has another shape");
  return true;
}

}  // namespace

void save_state(torch::serialize::OutputArchive& archive, const torch::optim::AdamW& optimizer) {
  const auto parameters = parameters_of(optimizer);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    torch::optim::OptimizerParamState* state = find_state(optimizer, parameters[i]);
    if (state == nullptr) continue;  // never updated
    for (const auto& [field, value] : fields_of(*state)) {
      const std::string name = field + std::to_string(i);
      if (const auto* number = std::get_if<std::int64_t*>(&value)) {
        archive.write(name, c10::IValue(**number));
      } else if (const torch::Tensor& tensor = *std::get<torch::Tensor*>(value); tensor.defined()) {
        archive.write(name, tensor, /*is_buffer=*/true);
      }
    }
  }
}

void load_state(torch::serialize::InputArchive& archive, torch::optim::AdamW& optimizer) {
  const auto parameters = parameters_of(optimizer);
  optimizer.state().clear();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto state = make_state(optimizer);
    bool found = false;
    for (const auto& [field, value] : fields_of(*state))
      found |= read(archive, field + std::to_string(i), value, parameters[i]);
    if (!found) continue;
    const auto& read_state = static_cast<const torch::optim::AdamWParamState&>(*state);
    TORCH_CHECK(read_state.exp_avg().defined() && read_state.exp_avg_sq().defined(), "a moment is missing");
    put_state(optimizer, parameters[i], std::move(state));
  }
}

}  // namespace lockstep::lab
