#include "train/parameter_watch.h"

#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <cstring>
#include <memory>

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
  for (const auto& [name, tensor] : now_()) {
    if (!tensor.requires_grad() || trained_.contains(tensor.unsafeGetTensorImpl())) continue;
    const auto was =
        std::find_if(first_.begin(), first_.end(), [&name = name](const auto& one) { return one.first == name; });
    const char* how = was == first_.end()           ? "was added"
                      : was->second.is_same(tensor) ? "began to require a gradient"
                                                    : "was replaced";
    return fmt::format("Parameter '{}' {}", name, how);
  }
  return "";
}

void refuse_change(const Group& group, const std::string& change, const std::string& owner) {
  std::vector<std::int64_t> longest{static_cast<std::int64_t>(change.size())};
  const OperationOptions options{.purpose = "which parameters changed"};
  group.all_reduce(buffer_of(longest), ReduceOp::kMax, options).wait();
  const auto width = static_cast<std::size_t>(longest[0]);
  std::string said(width * static_cast<std::size_t>(group.size()), '\0');
  std::memcpy(said.data() + width * static_cast<std::size_t>(group.rank()), change.data(), change.size());
  group.all_gather({said.data(), said.size(), DataType::kUInt8}, options).wait();
  const std::size_t first = std::min(said.find_first_not_of('\0'), said.size());
  const auto rank = static_cast<int>(first / std::max<std::size_t>(width, 1));
  throw Error(
      ErrorCode::kMismatch,
      fmt::format("{} on rank {} after {} was made, which would leave its gradient that rank's own: make the {} "
                  "anew after such a change, on every rank.",
                  said.substr(first, width).c_str(), rank, owner, owner),
      {.rank = group.rank(), .peer = rank, .operation = owner});
}

}  // namespace lockstep
