#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/mixed_precision.h>

#include <set>
#include <unordered_map>

#include "train/module_tensors.h"

namespace lockstep {

namespace {

/// The names that `module` has for these.
std::vector<std::string> names_of(const std::vector<torch::Tensor>& parameters, const torch::nn::Module& module) {
  std::unordered_map<const void*, std::string> names;
  for (const ModuleTensor& one : tensors_of(module)) names.emplace(one.tensor.unsafeGetTensorImpl(), one.name);
  std::vector<std::string> result;
  for (const torch::Tensor& parameter : parameters) {
    const auto found = names.find(parameter.unsafeGetTensorImpl());
    if (found == names.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("MasterWeights copies {} parameters, of which number {} is none of the module's: give it "
                              "the module whose parameters it was made of.",
                              parameters.size(), result.size() + 1));
    }
    result.push_back(found->second);
  }
  return result;
}

/// "masters.fc.weight"
class MastersPart final : public StatePart {
 public:
  MastersPart(std::string name, std::vector<std::string> names, std::vector<torch::Tensor> parameters,
              std::vector<torch::Tensor> masters)
      : name_(std::move(name)),
        names_(std::move(names)),
        parameters_(std::move(parameters)),
        masters_(std::move(masters)) {}

  std::string prefix() const override { return name_; }
  StateContent save(int, int) const override {
    StateContent content;
    for (std::size_t i = 0; i < masters_.size(); ++i) content.tensors.push_back(slice(i));
    return content;
  }

  std::vector<TensorSlice> targets(const StoredState& stored, int, int) override {
    missing_.clear();
    std::vector<TensorSlice> targets;
    std::set<std::string> known;
    for (std::size_t i = 0; i < masters_.size(); ++i) {
      TensorSlice target = slice(i);
      known.insert(target.name);
      if (stored.find(target.name) == nullptr) {
        missing_.push_back(i);
      } else {
        targets.push_back(std::move(target));
      }
    }
    for (const std::string& name : stored.names(name_ + ".")) {
      if (known.count(name) == 0) stored.refuse(fmt::format("it holds '{}', and no such parameter has a copy", name));
    }
    return targets;
  }

  void loaded(const StoredState&) override {
    const torch::NoGradGuard no_grad;
    for (const std::size_t i : missing_) masters_[i].copy_(parameters_[i]);
  }

 private:
  TensorSlice slice(std::size_t i) const {
    return {name_ + "." + names_[i], masters_[i].sizes().vec(), 0, masters_[i], /*replicated=*/true};
  }

  std::string name_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> masters_;
  std::vector<std::size_t> missing_;  ///< of which the checkpoint that is being loaded holds none
};

}  // namespace

MasterWeights::MasterWeights(std::vector<torch::Tensor> parameters) : parameters_(std::move(parameters)) {
  torch::NoGradGuard no_grad;
  for (const auto& parameter : parameters_) {
    auto master = parameter.detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    masters_.push_back(master.set_requires_grad(parameter.requires_grad()));
  }
}

void MasterWeights::take_gradients() {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& gradient = parameters_[i].grad();
    auto& master = masters_[i].mutable_grad();
    if (!gradient.defined()) {
      master = torch::Tensor();
    } else if (master.defined()) {
      master.copy_(gradient);
    } else {
      master = gradient.to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    }
  }
}

void MasterWeights::give_values() {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(masters_[i]);
}

std::unique_ptr<StatePart> MasterWeights::state(const std::string& name, const torch::nn::Module& module) const {
  return std::make_unique<MastersPart>(name, names_of(parameters_, module), parameters_, masters_);
}

TrainingState::Slices MasterWeights::slices(const torch::nn::Module& module) const {
  return [names = names_of(parameters_, module), masters = masters_] {
    std::vector<TensorSlice> slices;
    for (std::size_t i = 0; i < masters.size(); ++i)
      slices.push_back({names[i], masters[i].sizes().vec(), 0, masters[i], /*replicated=*/true});
    return slices;
  };
}

}  // namespace lockstep
