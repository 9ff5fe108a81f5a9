#include "train/module_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

namespace lockstep {

std::string ModuleTensor::description() const {
  if (!tied_to.empty()) return fmt::format("tied to '{}'", tied_to);
  return fmt::format("{} {} [{}]", trainable ? "trainable" : "fixed", c10::toString(tensor.scalar_type()),
                     fmt::join(tensor.sizes(), ", "));
}

std::vector<ModuleTensor> tensors_of(const torch::nn::Module& module) {
  std::vector<ModuleTensor> result;
  std::unordered_map<const void*, std::string> first_names;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor, bool is_parameter) {
    const auto [first, is_new] = first_names.emplace(tensor.unsafeGetTensorImpl(), name);
    result.push_back({name, tensor, is_parameter && tensor.requires_grad(), is_new ? "" : first->second});
  };
  for (const auto& parameter : module.named_parameters()) add(parameter.key(), parameter.value(), true);
  for (const auto& buffer : module.named_buffers()) add(buffer.key(), buffer.value(), false);
  return result;
}

}  // namespace lockstep
