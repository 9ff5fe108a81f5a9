#pragma once

#include <lockstep/local_sgd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/batch_share.h"
#include "train/hooks/hook_base.h"
#include "train/module_tensors.h"
#include "train/parameter_watch.h"

namespace lockstep::detail {

/// What LocalSgd does.
class LocalReplicas {
 public:
  LocalReplicas(const Group& group, const std::vector<ModuleTensor>& tensors, std::vector<ModuleTensor> buffers,
                ParameterWatch watch, const LocalSgdOptions& options);

  const Group& group() const { return group_; }
  HookTraffic traffic() const { return count_.traffic(); }

  void step(torch::optim::Optimizer& optimizer);
  void synchronise();

  /// Whether ranks have updated their parameters since they were the same.
  bool apart() const { return updates_ > 0; }
  /// Those that are trained, by name.
  std::vector<ModuleTensor> parameters() const;
  /// The outer optimizer's velocity of each of parameters(), of its shape; none without momentum. They share memory
  /// with what exchanges use.
  std::vector<torch::Tensor> velocities();
  /// The parameters are what all ranks have from here on: they were loaded.
  void take_over_parameters();

 private:
  /// All parameters of one type.
  struct Part {
    std::vector<ModuleTensor> parameters;
    torch::Tensor common;    // flat: what all ranks had after the last exchange
    torch::Tensor velocity;  // of the outer optimizer, flat; undefined without momentum
  };

  void exchange();
  void update(Part& part, torch::Tensor moved) const;

  Group group_;
  LocalSgdOptions options_;
  BatchShare& share_;  // the group's, as the loader sets it
  std::vector<ModuleTensor> buffers_;
  ParameterWatch watch_;
  TrafficCount count_;
  std::vector<Part> parts_;
  std::int64_t updates_ = 0;  // since the last exchange
  std::int64_t samples_ = 0;  // of them; of this rank
};

}  // namespace lockstep::detail
