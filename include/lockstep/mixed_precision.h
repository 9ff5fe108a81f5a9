#pragma once

#include <lockstep/checkpoint.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

class Sharded;

/// While it lives, libtorch computes matrix products and convolutions of this thread in bfloat16 on the CPU, from
/// parameters that stay float32: so those are the master weights, and gradients and what is sent are float32. Put it
/// around forward and loss; backward follows by itself. (torch.autocast of Python, which C++ has in pieces only.) What
/// takes float32 alone, as LayerNorm in libtorch 1.13 does with float32 parameters, needs its input cast to that.
class [[nodiscard]] Autocast {
 public:
  Autocast();
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool was_enabled_;
  torch::ScalarType dtype_before_;
};

/// float32 copies of a model's bfloat16 or float16 parameters, for the optimizer: small updates add up in them where
/// the 16-bit parameters would round them away (Micikevicius et al. 2018, Mixed Precision Training). Gradients are then
/// reduced in 16 bits, half the bytes.
///
///   net->to(torch::kBFloat16);
///   lockstep::DataParallel replica(world, *net);
///   lockstep::MasterWeights masters(net->parameters());
///   torch::optim::AdamW optimizer(masters.parameters(), 1e-3);
///   ...
///   loss.backward();
///   masters.take_gradients();
///   optimizer.step();
///   masters.give_values();
///
/// The model's own gradients are cleared by net->zero_grad(), not by the optimizer. Local: on replicas, which are the
/// same, copies are the same. A checkpoint needs them too, since the model has them rounded:
///
///   state.module("model", *net).part(masters.state("masters", *net));
///   state.optimizer("optimizer", optimizer, masters.slices(*net));
class MasterWeights {
 public:
  /// Copies the values of `parameters`, of any floating type and shape, which it holds on to.
  explicit MasterWeights(std::vector<torch::Tensor> parameters);

  /// In the order given; a float32 leaf each.
  const std::vector<torch::Tensor>& parameters() const { return masters_; }
  /// Each copy's gradient becomes its parameter's, in float32; undefined where that is.
  void take_gradients();
  /// Each parameter becomes its copy, rounded.
  void give_values();

  /// What a checkpoint holds of the copies, by the names of their parameters in `module`. Those of which it holds none
  /// become what it loads into the model. Throws Error (kInvalidArgument) for a parameter that `module` has not.
  std::unique_ptr<StatePart> state(const std::string& name, const torch::nn::Module& module) const;
  /// The copies by those names, for TrainingState::optimizer. Errors as of state().
  TrainingState::Slices slices(const torch::nn::Module& module) const;

 private:
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> masters_;
};

struct LossScalerOptions {
  double scale = 65536;        ///< the first factor
  double growth = 2;           ///< it is multiplied with this after growth_interval good updates in a row...
  int growth_interval = 2000;  ///<
  double backoff = 0.5;        ///< ...and with this after each one that overflowed
};

/// Multiplies the loss, so that small gradients do not vanish in float16, and passes over updates in which large ones
/// overflowed (Micikevicius et al. 2018). One for each optimizer.
///
///   scaler.scale(loss).backward();
///   scaler.unscale(optimizer);      // only where gradients are looked at or clipped before the update
///   scaler.step(optimizer);
///
/// Behind a DataParallel all ranks hold the same gradients, so they pass over the same updates and have the same scale,
/// with nothing to exchange: what overflowed on one rank is infinite or not a number in the mean. Behind a Sharded each
/// has gradients of its own pieces, and what overflowed may lie in one rank's only: give it too, and ranks agree, by
/// two bytes an update. Not thread-safe.
///
/// The first scale(loss) after unscale() begins a new update; losses that are scaled before one unscale() add up in it.
/// So a program may leave step() out: where unscale() said false the scale shrinks then, and the update counts as
/// skipped; finite gradients that are dropped change nothing.
class LossScaler {
 public:
  /// Throws Error (kInvalidArgument) for options with which no scale would settle.
  explicit LossScaler(LossScalerOptions options = {});

  /// `loss`, of any shape, times the scale, with its graph.
  torch::Tensor scale(const torch::Tensor& loss);
  /// What losses are multiplied with now.
  double scale() const { return scale_; }

  /// Divides the gradients of the optimizer's parameters by the scale, once an update; false if one is infinite or not
  /// a number, or if there is none (NonFinite::kSkip took them).
  bool unscale(torch::optim::Optimizer& optimizer);
  /// Of sharded gradients, the same answer on all ranks; before `shard.clip_grad_norm`. Collective.
  bool unscale(torch::optim::Optimizer& optimizer, const Sharded& shard);
  /// Updates and returns true, unless unscale (called here if it was not) says false; then the parameters stay and the
  /// scale shrinks.
  bool step(torch::optim::Optimizer& optimizer);
  /// The same by `shard.step(optimizer)`. Collective.
  bool step(torch::optim::Optimizer& optimizer, Sharded& shard);
  /// Updates passed over so far.
  int skipped() const { return skipped_; }

  /// For TrainingState::part(): the scale, the good updates since it changed, and those passed over. A checkpoint that
  /// holds none of it leaves them as they are. Keeps a reference.
  std::unique_ptr<StatePart> state(const std::string& name);

 private:
  class State;
  /// What stands in an optimizer's gradients, all of which were divided if they are finite.
  struct Found {
    bool any = false;
    bool finite = true;
  };
  Found divide(torch::optim::Optimizer& optimizer) const;
  bool take(bool finite, const std::function<void()>& step);
  void skip();

  LossScalerOptions options_;
  double scale_;
  int good_updates_ = 0;
  int skipped_ = 0;
  bool unscaled_ = false;
  bool finite_ = false;
};

}  // namespace lockstep
