#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace lockstep {

/// What LARS and LAMB share: each parameter moves along a direction of its own, as far as the ratio of its norm to the
/// direction's says, so that layers whose gradients are large do not bound the learning rate of all others.
///
/// A parameter whose norm, or whose direction's, is zero moves with the plain learning rate; so does every parameter of
/// a group with `layerwise(false)`, which is what the papers' authors do for biases and normalisations.
class LayerwiseOptimizer : public torch::optim::Optimizer {
 public:
  /// Adds up, over the ranks that share the parameters, float64 sums of squares, two a parameter.
  using SumOverShards = std::function<void(torch::Tensor& sums)>;

  /// For parameters that are slices of tensors cut over ranks: a norm is then that of the whole tensor, and the ranks
  /// get the same ratio. One sum a step, of all parameters of all groups together; one whose slice is empty, or has no
  /// gradient, adds zero. Costs memory for the directions of all parameters at once. Every rank must have the same
  /// parameters in the same order. Sharded::step sees to it by itself. Returns what was set before.
  SumOverShards sum_norms_by(SumOverShards sum) { return std::exchange(sum_, std::move(sum)); }

  torch::Tensor step(LossClosure closure = nullptr) override;
  /// Both throw Error (kUnsupported): torch's archives have no place for this state, and would hold nothing.
  /// TrainingState::optimizer of lockstep/checkpoint.h saves and loads it.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 protected:
  using torch::optim::Optimizer::Optimizer;

  /// Where a parameter goes, and what its step is measured by.
  struct Direction {
    torch::Tensor parameter;
    torch::optim::OptimizerOptions* options = nullptr;
    torch::Tensor direction;
    torch::Tensor measured;  ///< its norm is compared with the parameter's
  };
  virtual Direction direction_of(torch::Tensor parameter, torch::optim::OptimizerOptions& options) = 0;
  /// `norm` of the parameter and `other` of what is measured; 0 and 0 stand for a parameter that is not scaled.
  virtual void apply(const Direction& direction, double norm, double other) = 0;
  virtual bool is_layerwise(const torch::optim::OptimizerOptions& options) const = 0;

 private:
  SumOverShards sum_;
};

struct LarsOptions : public torch::optim::OptimizerCloneableOptions<LarsOptions> {
  explicit LarsOptions(double lr) : lr_(lr) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(double, momentum) = 0.9;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, trust) = 0.001;   ///< the share of its norm by which a layer moves at lr 1
  TORCH_ARG(bool, layerwise) = true;  ///< false: momentum SGD

 public:
  double get_lr() const override { return lr_; }
  void set_lr(const double lr) override { lr_ = lr; }
};

/// Layer-wise adaptive rate scaling (You, Gitman, Ginsburg: Large Batch Training of Convolutional Networks,
/// arXiv:1708.03888, algorithm 1): SGD with momentum m, in which layer l's learning rate is
///   lambda_l = trust |w| / (|g| + weight_decay |w|),
///   v <- m v + lr lambda_l (g + weight_decay w),   w <- w - v.
/// Throws Error (kInvalidArgument) for a negative option.
class Lars : public LayerwiseOptimizer {
 public:
  Lars(std::vector<torch::Tensor> parameters, LarsOptions options);
  Lars(std::vector<torch::optim::OptimizerParamGroup> groups, LarsOptions options);

 protected:
  Direction direction_of(torch::Tensor parameter, torch::optim::OptimizerOptions& options) override;
  void apply(const Direction& direction, double norm, double other) override;
  bool is_layerwise(const torch::optim::OptimizerOptions& options) const override;
};

struct LambOptions : public torch::optim::OptimizerCloneableOptions<LambOptions> {
  explicit LambOptions(double lr = 1e-3) : lr_(lr) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(double, beta1) = 0.9;
  TORCH_ARG(double, beta2) = 0.999;
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(double, weight_decay) = 0.01;
  TORCH_ARG(bool, layerwise) = true;  ///< false: AdamW

 public:
  double get_lr() const override { return lr_; }
  void set_lr(const double lr) override { lr_ = lr; }
};

/// LAMB (You, Li, Reddi, Hseu, Kumar, Bhojanapalli, Song, Demmel, Keutzer, Hsieh: Large Batch Optimization for Deep
/// Learning: Training BERT in 76 minutes, ICLR 2020, arXiv:1904.00962, algorithm 2, with phi(z) = z and bias
/// correction):
///   m <- beta1 m + (1 - beta1) g,   v <- beta2 v + (1 - beta2) g^2,
///   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay w,   w <- w - lr |w| / |u| u.
/// Throws Error (kInvalidArgument) for a negative option or a beta that is not below 1.
class Lamb : public LayerwiseOptimizer {
 public:
  Lamb(std::vector<torch::Tensor> parameters, LambOptions options);
  Lamb(std::vector<torch::optim::OptimizerParamGroup> groups, LambOptions options);

 protected:
  Direction direction_of(torch::Tensor parameter, torch::optim::OptimizerOptions& options) override;
  void apply(const Direction& direction, double norm, double other) override;
  bool is_layerwise(const torch::optim::OptimizerOptions& options) const override;
};

/// What the learning rate does after its warm-up.
enum class Decay : std::uint8_t {
  kNone,
  kCosine,      ///< half a cosine (Loshchilov, Hutter: SGDR, ICLR 2017)
  kStep,        ///< times `factor` at each of `milestones` (Goyal et al. 2017)
  kPolynomial,  ///< (1 - progress)^power; power 1 is linear (as BERT and LAMB)
};

/// A learning rate as a function of the iteration's number and of nothing else: a resumed training needs only that. A
/// linear warm-up to `peak`, the decay until `end`, and from there on `minimum`. Cosine and polynomial end at
/// `minimum`; a step's product does not go below it.
struct LearningRate {
  double peak = 1e-3;
  double minimum = 0;
  std::int64_t warmup = 0;  ///< iterations, of which the first has peak / (warmup + 1)
  Decay decay = Decay::kNone;
  /// Cosine, polynomial: iterations until the decay is done, warm-up included; at least 1.
  std::int64_t end = 0;
  double power = 1;                        ///< polynomial
  std::vector<std::int64_t> milestones{};  ///< step: the iterations after which the rate falls, ascending
  double factor = 0.1;                     ///< step

  /// The rate for iteration 1, 2, ... Throws Error (kInvalidArgument) for a decay that needs an `end` and has none.
  double at(std::int64_t iteration) const;
};

/// Of all groups of any optimizer.
void set_learning_rate(torch::optim::Optimizer& optimizer, double rate);

/// The learning rate for a global batch of `global_batch` samples, where `rate` is good for one of `base_batch`: in
/// proportion (Goyal et al.: Accurate, Large Minibatch SGD, arXiv:1706.02677; for SGD, with a warm-up) ...
double scaled_linearly(double rate, std::int64_t base_batch, std::int64_t global_batch);
/// ... or to the square root of it, which keeps the variance of an update (Krizhevsky, arXiv:1404.5997; for Adam and
/// LAMB). Both throw Error (kInvalidArgument) for a batch of less than one sample.
double scaled_by_square_root(double rate, std::int64_t base_batch, std::int64_t global_batch);

/// Large batches from small ones: how many of the loader's global batches an update is made of, growing linearly from
/// `first` to `last` (Smith, Kindermans, Ying, Le: Don't Decay the Learning Rate, Increase the Batch Size, ICLR 2018).
/// Backward through all but the last of them stands in DataParallel::pause, and each loss is divided by their number.
struct BatchWarmup {
  std::int64_t first = 1;
  std::int64_t last = 1;
  std::int64_t iterations = 0;  ///< until `last` is reached

  /// Global batches of the update of iteration 1, 2, ... Throws nothing.
  std::int64_t at(std::int64_t iteration) const;
};

}  // namespace lockstep
