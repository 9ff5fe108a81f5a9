#pragma once

#include <lockstep/checkpoint.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <vector>

#include "train/checkpoint/optimizer_part.h"
#include "train/local_sgd/local_replicas.h"

namespace lockstep::detail {

/// What a checkpoint holds of Local SGD beside the model: the outer optimizer's velocity ("replica.velocity.fc.weight",
/// the same on all ranks) and what each rank's inner optimizer has ("replica.rank3.fc.weight.exp_avg").
class LocalState final : public StatePart {
 public:
  LocalState(std::string name, std::shared_ptr<LocalReplicas> replicas, torch::optim::Optimizer& optimizer);

  std::string prefix() const override { return name_; }
  StateContent save(int rank, int ranks) const override;
  std::vector<TensorSlice> targets(const StoredState& stored, int rank, int ranks) override;
  void loaded(const StoredState& stored) override;

 private:
  std::vector<TensorSlice> velocities() const;
  /// What that rank's inner optimizer has.
  OptimizerPart optimizer_of(int rank) const;
  int stored_ranks(const StoredState& stored) const;
  std::string ranks_name() const { return name_ + ".ranks"; }

  std::string name_;
  std::shared_ptr<LocalReplicas> replicas_;
  torch::optim::Optimizer& optimizer_;
  std::unique_ptr<OptimizerPart> loading_;
};

}  // namespace lockstep::detail
