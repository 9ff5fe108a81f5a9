#include "train/parameter_watch.h"

#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <memory>

#include "train/replicate.h"

namespace lockstep {
namespace {

std::function<NamedTensors()> parameters_of(torch::nn::Module& module) {
  const std::weak_ptr<torch::nn::Module> shared = module.weak_from_this();
  if (shared.expired()) return [&module] { return module.named_parameters().pairs(); };
  return [shared] {
    const auto there = shared.lock();
    return there ? there->named_parameters().pairs() : NamedTensors{};
  };
}

std::function<NamedTensors()> parameters_of(const torch::jit::Module& module) {
  return [module] {
    NamedTensors parameters;
    for (const auto& parameter : module.named_parameters()) parameters.emplace_back(parameter.name, parameter.value);
    return parameters;
  };
}

}  // namespace

ParameterWatch::ParameterWatch(torch::nn::Module& module) : ParameterWatch(parameters_of(module)) {}
ParameterWatch::ParameterWatch(const torch::jit::Module& module) : ParameterWatch(parameters_of(module)) {}
ParameterWatch::ParameterWatch(NamedTensors tensors)
    : ParameterWatch(std::function<NamedTensors()>([tensors = std::move(tensors)] { return tensors; })) {}

ParameterWatch::ParameterWatch(std::function<NamedTensors()> now) : now_(std::move(now)), first_(now_()) {
  for (const auto& [name, tensor] : first_) {
    if (tensor.requires_grad()) trained_.insert(tensor.unsafeGetTensorImpl());
  }
}

std::string ParameterWatch::change() const {
  return change_of([](const torch::Tensor&) { return true; });
}

std::string ParameterWatch::change_that_trained() const {
  return change_of([](const torch::Tensor& tensor) { return tensor.grad().defined(); });
}

std::string ParameterWatch::change_of(const std::function<bool(const torch::Tensor&)>& counts) const {
  for (const auto& [name, tensor] : now_()) {
    if (!tensor.requires_grad() || trained_.contains(tensor.unsafeGetTensorImpl()) || !counts(tensor)) continue;
    const auto was =
        std::find_if(first_.begin(), first_.end(), [&name = name](const auto& one) { return one.first == name; });
    const char* how = was == first_.end()           ? "was added"
                      : was->second.is_same(tensor) ? "began to require a gradient"
                                                    : "was replaced";
    return fmt::format("Parameter '{}' {}", name, how);
  }
  return "";
}

std::string refusal_of(const std::string& change, int rank, const std::string& owner) {
  return fmt::format(
      "{} on rank {} after {} was made, which would leave its gradient that rank's own: make the {} anew after such a "
      "change, on every rank.",
      change, rank, owner, owner);
}

void refuse_change(const Group& group, const std::string& change, const std::string& owner) {
  refuse_together(group, change.empty() ? change : refusal_of(change, group.rank(), owner), owner);
}

}  // namespace lockstep
