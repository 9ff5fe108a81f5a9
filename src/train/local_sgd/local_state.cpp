#include "train/local_sgd/local_state.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <charconv>
#include <set>
#include <system_error>

namespace lockstep::detail {

LocalState::LocalState(std::string name, std::shared_ptr<LocalReplicas> replicas, torch::optim::Optimizer& optimizer)
    : name_(std::move(name)), replicas_(std::move(replicas)), optimizer_(optimizer) {
  (void)optimizer_of(0);  // says so at once if it is none that can be saved
}

OptimizerPart LocalState::optimizer_of(int rank) const {
  const auto parameters = [replicas = replicas_] {
    std::vector<TensorSlice> slices;
    for (const ModuleTensor& one : replicas->parameters())
      slices.push_back({one.name, one.tensor.sizes().vec(), 0, one.tensor});
    return slices;
  };
  return {fmt::format("{}.rank{}", name_, rank), optimizer_, parameters, OptimizerPart::Rates::kOwn};
}

std::vector<TensorSlice> LocalState::velocities() const {
  const auto parameters = replicas_->parameters();
  const auto velocities = replicas_->velocities();
  std::vector<TensorSlice> slices;
  for (std::size_t i = 0; i < velocities.size(); ++i) {
    slices.push_back({fmt::format("{}.velocity.{}", name_, parameters[i].name), velocities[i].sizes().vec(), 0,
                      velocities[i], /*replicated=*/true});
  }
  return slices;
}

StateContent LocalState::save(int rank, int ranks) const {
  if (replicas_->apart()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("The ranks of '{}' hold different parameters, since each has updated its own after the "
                            "last exchange: call LocalSgd::synchronise() before a checkpoint is saved.",
                            name_));
  }
  StateContent content = optimizer_of(rank).save(rank, ranks);
  for (TensorSlice& velocity : velocities()) content.tensors.push_back(std::move(velocity));
  content.values[ranks_name()] = std::to_string(ranks);
  return content;
}

int LocalState::stored_ranks(const StoredState& stored) const {
  const std::string& text = stored.value(ranks_name());
  int ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  if (error != std::errc() || end != text.data() + text.size() || ranks < 1)
    stored.refuse(fmt::format("its '{}' is '{}', which is no number of ranks", ranks_name(), text));
  return ranks;
}

std::vector<TensorSlice> LocalState::targets(const StoredState& stored, int rank, int ranks) {
  std::vector<TensorSlice> targets = velocities();
  std::set<std::string> known;
  for (const TensorSlice& velocity : targets) known.insert(velocity.name);
  for (const std::string& name : stored.names(name_ + ".velocity.")) {
    if (known.count(name) == 0)
      stored.refuse(fmt::format("it holds '{}', for which the outer optimizer here has no place", name));
  }
  // Where there were fewer ranks, that of the one which comes round to this one.
  loading_ = std::make_unique<OptimizerPart>(optimizer_of(rank % stored_ranks(stored)));
  for (TensorSlice& target : loading_->targets(stored, rank, ranks)) targets.push_back(std::move(target));
  return targets;
}

void LocalState::loaded(const StoredState& stored) {
  loading_->loaded(stored);
  loading_.reset();
  replicas_->take_over_parameters();
}

}  // namespace lockstep::detail
