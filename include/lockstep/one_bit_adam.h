#pragma once

#include <lockstep/hooks.h>
#include <torch/optim/adam.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep {

/// Of OneBitAdam, beside Adam's own.
struct OneBitAdamOptions {
  std::int64_t warmup = 0;    ///< iterations of plain Adam, after which the variance stays as it is; at least 1
  std::int64_t block = 1024;  ///< values that share a scale; a multiple of 8
};

/// 1-bit Adam (Tang et al. 2021, 1-bit Adam: Communication Efficient Large-Scale Training with Adam's Convergence
/// Speed, algorithm 1): Adam while it warms up; then its variance is frozen, and what ranks exchange is the momentum, a
/// bit a value both ways, with what that loses kept by those who send and by those who average. 31 times less than
/// all-reduce at any number of ranks. The authors warm up for 15 to 25 % of a training.
///
///   lockstep::OneBitAdam optimizer(world, net->parameters(), torch::optim::AdamOptions(1e-3), {.warmup = 1000});
///   lockstep::DataParallel replica(world, *net, {.communication_hook = optimizer.communication_hook()});
///
/// From then on `.grad` is each rank's own after backward, weighted by its samples: do not clip it or look at it.
/// Values without variance at the end of the warm-up, those that never had a gradient, do not move any more. Twice the
/// gradients' memory for what is kept, which no checkpoint holds: a resumed training starts with nothing kept. All else
/// is Adam's state, and saved as such.
class OneBitAdam : public torch::optim::Adam {
 public:
  /// Throws Error: kInvalidArgument for a warm-up below 1 or a block that is no multiple of 8, kUnsupported for amsgrad
  /// and for parameters that are not float32 on the host.
  OneBitAdam(const Group& group, std::vector<torch::Tensor> parameters, torch::optim::AdamOptions adam,
             OneBitAdamOptions options);
  OneBitAdam(const Group& group, std::vector<torch::optim::OptimizerParamGroup> groups, torch::optim::AdamOptions adam,
             OneBitAdamOptions options);

  /// For the DataParallel of the same parameters: the mean of gradients in the warm-up, then nothing.
  CommunicationHook communication_hook();
  /// Collective and blocking once it compresses.
  torch::Tensor step(LossClosure closure = nullptr) override;

  /// Is the warm-up over?
  bool compresses() const;
  /// Of hook and optimizer together.
  HookTraffic traffic() const;

 private:
  class Exchange;
  void update_compressed();

  std::int64_t warmup_;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace lockstep
