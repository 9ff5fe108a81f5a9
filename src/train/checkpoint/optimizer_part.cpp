#include "train/checkpoint/optimizer_part.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <charconv>
#include <set>
#include <system_error>
#include <unordered_set>

#include "train/optimizer_fields.h"

namespace lockstep {

namespace {

using torch::optim::OptimizerParamState;

TensorSlice slice_like(const TensorSlice& parameter, const std::string& name, torch::Tensor data) {
  return {name, parameter.shape, parameter.begin, std::move(data), parameter.replicated, parameter.is_copy};
}

/// A number of a parameter that is cut over ranks is written by the rank that has its first element.
bool writes_numbers(const TensorSlice& parameter) {
  return parameter.replicated || (parameter.begin == 0 && !parameter.is_copy);
}

}  // namespace

OptimizerPart::OptimizerPart(std::string name, torch::optim::Optimizer& optimizer, TrainingState::Slices parameters,
                             Rates rates)
    : name_(std::move(name)), optimizer_(optimizer), parameters_(std::move(parameters)), rates_(rates) {
  make_state(optimizer);  // says so at once if it is none that can be saved
}

/// Those that the optimizer updates. All that it updates must be among those with a name.
std::vector<TensorSlice> OptimizerPart::slices() const {
  std::unordered_set<const void*> updated;
  for (const auto& group : optimizer_.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) updated.insert(parameter.unsafeGetTensorImpl());
  }
  std::vector<TensorSlice> slices;
  for (TensorSlice& slice : parameters_()) {
    if (updated.erase(slice.updated().unsafeGetTensorImpl()) > 0) slices.push_back(std::move(slice));
  }
  if (updated.empty()) return slices;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("'{}' updates {} tensors that have no name. Give TrainingState::optimizer the module, or the "
                          "slices, that it was made for.",
                          name_, updated.size()));
}

std::vector<std::string> OptimizerPart::rate_names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < optimizer_.param_groups().size(); ++i)
    names.push_back(fmt::format("{}.group{}.lr", name_, i));
  return names;
}

StateContent OptimizerPart::save(int, int) const {
  StateContent content;
  for (const TensorSlice& parameter : slices()) {
    OptimizerParamState* state = parameter.data.numel() > 0 ? find_state(optimizer_, parameter.updated()) : nullptr;
    if (state == nullptr) continue;
    for (const auto& [field, value] : fields_of(*state)) {
      const std::string name = fmt::format("{}.{}.{}", name_, parameter.name, field);
      if (const auto* tensor = std::get_if<torch::Tensor*>(&value)) {
        if ((*tensor)->defined()) content.tensors.push_back(slice_like(parameter, name, **tensor));
      } else if (writes_numbers(parameter)) {
        content.tensors.push_back({name, {}, 0, torch::tensor(*std::get<std::int64_t*>(value)), parameter.replicated});
      }
    }
  }
  const auto names = rate_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double rate = optimizer_.param_groups()[i].options().get_lr();
    if (rates_ == Rates::kShared) {
      content.values[names[i]] = fmt::format("{}", rate);
    } else {
      content.tensors.push_back({names[i], {}, 0, torch::tensor(rate, torch::kFloat64)});
    }
  }
  return content;
}

/// What is stored of one parameter's state, to be read into a new one.
std::vector<TensorSlice> OptimizerPart::targets_of(const TensorSlice& parameter, const StoredState& stored) {
  std::vector<TensorSlice> targets;
  Loading loading{parameter.updated(), make_state(optimizer_), {}};
  for (const auto& [field, value] : fields_of(*loading.state)) {
    const std::string name = fmt::format("{}.{}.{}", name_, parameter.name, field);
    const StoredState::Tensor* found = stored.find(name);
    if (found == nullptr) continue;
    if (const auto* tensor = std::get_if<torch::Tensor*>(&value)) {
      **tensor = torch::empty(parameter.data.sizes(), torch::TensorOptions(found->type));
      targets.push_back(slice_like(parameter, name, **tensor));
    } else {
      loading.numbers.emplace_back(std::get<std::int64_t*>(value), torch::zeros({}, torch::kInt64));
      targets.push_back({name, {}, 0, loading.numbers.back().second});
    }
  }
  if (targets.empty()) loading.state.reset();
  loading_.push_back(std::move(loading));
  return targets;
}

std::vector<TensorSlice> OptimizerPart::targets_of_rates(const StoredState& stored) {
  loading_rates_.clear();
  loading_own_rates_.clear();
  std::vector<TensorSlice> targets;
  for (const std::string& name : rate_names()) {
    if (rates_ == Rates::kOwn) {
      loading_own_rates_.push_back(torch::zeros({}, torch::kFloat64));
      targets.push_back({name, {}, 0, loading_own_rates_.back()});
      continue;
    }
    const std::string& text = stored.value(name);
    double rate = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);  // whatever the locale
    if (error != std::errc() || end != text.data() + text.size())
      stored.refuse(fmt::format("its '{}' is '{}', which is no learning rate", name, text));
    loading_rates_.push_back(rate);
  }
  return targets;
}

std::vector<TensorSlice> OptimizerPart::targets(const StoredState& stored, int, int) {
  loading_.clear();
  std::vector<TensorSlice> targets = targets_of_rates(stored);
  std::set<std::string> known;
  for (const TensorSlice& rate : targets) known.insert(rate.name);
  const auto fields = make_state(optimizer_);
  for (const TensorSlice& parameter : slices()) {
    for (const auto& [field, value] : fields_of(*fields))
      known.insert(fmt::format("{}.{}.{}", name_, parameter.name, field));
    if (parameter.data.numel() == 0) continue;
    for (TensorSlice& target : targets_of(parameter, stored)) targets.push_back(std::move(target));
  }
  for (const std::string& name : stored.names(name_ + ".")) {
    if (known.count(name) == 0)
      stored.refuse(fmt::format("it holds '{}', for which this optimizer has no place", name));
  }
  return targets;
}

void OptimizerPart::loaded(const StoredState&) {
  for (Loading& loading : loading_) {
    for (const auto& [number, tensor] : loading.numbers) *number = tensor.item<std::int64_t>();
    put_state(optimizer_, loading.parameter, std::move(loading.state));
  }
  loading_.clear();
  for (const torch::Tensor& rate : loading_own_rates_) loading_rates_.push_back(rate.item<double>());
  for (std::size_t i = 0; i < loading_rates_.size(); ++i)
    optimizer_.param_groups()[i].options().set_lr(loading_rates_[i]);
}

}  // namespace lockstep
