#pragma once

#include <lockstep/checkpoint.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// An optimizer's state and learning rates: "optimizer.fc.weight.exp_avg", "optimizer.group0.lr".
class OptimizerPart final : public StatePart {
 public:
  /// Where learning rates are written: once for all ranks, or by each rank as tensors, where each has an optimizer of
  /// its own and a name of its own for it.
  enum class Rates { kShared, kOwn };

  OptimizerPart(std::string name, torch::optim::Optimizer& optimizer, TrainingState::Slices parameters,
                Rates rates = Rates::kShared);

  std::string prefix() const override { return name_; }

  StateContent save(int rank, int ranks) const override;
  std::vector<TensorSlice> targets(const StoredState& stored, int rank, int ranks) override;
  void loaded(const StoredState& stored) override;

 private:
  /// A parameter's state while it is loaded: numbers are read as tensors first.
  struct Loading {
    torch::Tensor parameter;
    std::unique_ptr<torch::optim::OptimizerParamState> state;  ///< null: the optimizer had never updated it
    std::vector<std::pair<std::int64_t*, torch::Tensor>> numbers;
  };
  std::vector<TensorSlice> slices() const;
  std::vector<TensorSlice> targets_of(const TensorSlice& parameter, const StoredState& stored);
  std::vector<TensorSlice> targets_of_rates(const StoredState& stored);
  std::vector<std::string> rate_names() const;

  std::string name_;
  torch::optim::Optimizer& optimizer_;
  TrainingState::Slices parameters_;
  Rates rates_;
  std::vector<Loading> loading_;
  std::vector<double> loading_rates_;
  std::vector<torch::Tensor> loading_own_rates_;
};

}  // namespace lockstep
