#pragma once

#include <lockstep/hooks.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <string>

namespace lockstep {

class StatePart;

namespace detail {
class LocalReplicas;
}

struct LocalSgdOptions {
  std::int64_t period = 8;  ///< updates of each rank's own between two exchanges
  /// The outer optimizer, SGD whose gradient is what the ranks' parameters moved since the last exchange, in the mean
  /// and with the sign turned: 1 and 0 make the parameters their mean.
  double outer_rate = 1;
  double outer_momentum = 0;               ///< Nesterov's
  BufferSync buffers = BufferSync::kMean;  ///< when running statistics are made equal: at first, or at each exchange
};

/// DiLoCo (Douillard et al. 2023, DiLoCo: Distributed Low-Communication Training of Language Models): hundreds of
/// updates by an inner AdamW, then one of Nesterov's with rate 0.7 and momentum 0.9. Give AdamW to step().
inline LocalSgdOptions diloco(std::int64_t period = 500) { return {period, 0.7, 0.9}; }

/// Local SGD (Stich 2019, Local SGD Converges Fast and Communicates Little), and DiLoCo: ranks train each by itself,
/// with any optimizer, and every `period` updates their parameters become the mean over ranks, weighted by the samples
/// that each has seen since the last time. The call site is DataParallel's, which has step() and synchronise() too:
///
///   lockstep::LocalSgd replica(world, *net, {.period = 8});    // or lockstep::diloco()
///   ...
///   loss.backward();
///   replica.step(optimizer);
///   ...
///   replica.synchronise();                                     // before the model is used, saved or evaluated
///
/// Between exchanges ranks hold different parameters. Optimizers' states stay each rank's own. With period 1 and plain
/// SGD it is DataParallel, to rounding. Costs memory for one copy of the parameters, and one more with outer momentum.
/// Parameters that change after construction are an Error at the next exchange, as under DataParallel. Not thread-safe;
/// every rank must call step() and synchronise() equally often.
class LocalSgd {
 public:
  /// As DataParallel: gives every rank rank 0's parameters and buffers. Throws Error: kInvalidArgument for options out
  /// of range or if nothing requires a gradient, kMismatch if the models or the options differ.
  LocalSgd(const Group& group, torch::nn::Module& module, LocalSgdOptions options = {});
  LocalSgd(const Group& group, const torch::jit::Module& module, LocalSgdOptions options = {});
  LocalSgd(const Group& group, const NamedTensors& tensors, LocalSgdOptions options = {});

  /// As DataParallel's. A loader of make_loader on the same group does this itself.
  void samples(std::int64_t count);

  /// This rank's update, unless its last batch had no samples; then, every `period` calls, the exchange, which is
  /// collective and blocking.
  void step(torch::optim::Optimizer& optimizer);
  /// An exchange now, if there were updates since the last one. Collective and blocking.
  void synchronise();

  /// What a checkpoint holds of this beside the model, for TrainingState::part(): the outer optimizer's velocity, and
  /// the state and learning rates of `optimizer`, which step() is given, on each rank. `name` is what its tensors'
  /// names begin with. On as many ranks training goes on with the same bits; on others rank r goes on with what rank r
  /// modulo their number had. Who loads the model alone has to make this afterwards: it starts from the
  /// parameters that it finds. Saving throws Error (kInvalidArgument) unless synchronise() or an exchange came last.
  std::unique_ptr<StatePart> state(const std::string& name, torch::optim::Optimizer& optimizer) const;

  /// What was sent; dense is an all-reduce of the parameters' gradients at each step().
  HookTraffic traffic() const;

 private:
  std::shared_ptr<detail::LocalReplicas> replicas_;
};

}  // namespace lockstep
