#pragma once

#include <lockstep/group.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torch::jit {
struct Module;
}

namespace lockstep {

namespace detail {
class Reducer;
}

/// One bucket on its way: several parameters' gradients in one flat tensor.
struct GradientBucket {
  int index = 0;       ///< 0 leaves first
  torch::Tensor flat;  ///< one-dimensional, in registered memory; slots are 64-byte aligned, gaps are zero
  std::vector<std::string> parameters;   ///< names, in slot order
  bool last = false;                     ///< no bucket follows in this backward
  std::vector<torch::Tensor> gradients;  ///< the parameters' in their shapes, over flat's memory
};

/// Replaces the all-reduce of a bucket: starts it and returns at once. When the Pending is complete `bucket.flat` must
/// hold the mean over ranks. Called in the same order on every rank.
using CommunicationHook = std::function<Pending(const GradientBucket& bucket)>;

/// One synchronisation operation of an iteration, on this rank: what it was, what it took and what it was predicted to
/// take.
struct BucketTiming {
  /// Of the bucket; of Sharded's, which are cut into pieces, in the order in which they were made; -1 for the
  /// parameters of a block that are not trained.
  int index = 0;
  std::vector<std::string> parameters;
  std::size_t bytes = 0;          ///< of the whole bucket
  std::string algorithm;          ///< that ran, "auto" resolved; or "communication_hook"
  std::int64_t launched_us = 0;   ///< asked for; monotonic clock, as traces use
  std::int64_t completed_us = 0;  ///< likewise
  bool hidden = false;            ///< complete before the last gradient existed; a gather: before it was waited for
  std::string operation;          ///< "all_reduce", "reduce_scatter", "all_gather"; a hook stands for "all_reduce"
  std::string phase;              ///< of the iteration: "forward", "backward", "step"
  std::string block;              ///< whose parameters they are: of one that was wrapped, as "layers.0"; or empty
  int steps = 0;                  ///< of the algorithm's schedule; of a hook's operations together
  std::uint64_t wire_bytes = 0;   ///< that this rank sent for it: over a network, or in memory that peers read
  std::int64_t begun_us = 0;  ///< those before it were complete: from here to completed_us is what is predicted, and
                              ///< what the ranks waited for each other and computed in between
  std::optional<double> predicted_ms;  ///< predicted_ms() of lockstep/prediction.h, when the buckets were laid out
};

/// What to do when a gradient is infinite or not a number on some rank, which would make it so on all.
enum class NonFinite : std::uint8_t {
  kIgnore,  ///< nothing is looked at, nothing is lost
  kSkip,    ///< all ranks set all gradients of the model to undefined: optimizers pass over such parameters
  kStop     ///< backward throws Error (kNonFinite) on all ranks, naming parameter and rank
};

/// A parameter whose gradient was infinite or not a number, and a rank on which it was (the highest; of ranks from 253
/// on, 253).
struct NonFiniteGradient {
  std::string parameter;
  int rank = 0;
};

/// What the last synchronised backward took, on this rank, and what it found.
struct SyncReport {
  double backward_ms = 0;  ///< from its first gradient to its last
  double exposed_ms =
      0;  ///< what communication took of the calling thread: moving bytes between gradients, waiting at the end
  double exposed_in_forward_ms = 0;   ///< of that, before the first gradient: gathers of Sharded
  double exposed_in_backward_ms = 0;  ///< and from it to the last one
  std::size_t bytes = 0;              ///< of gradients handed to the collective
  std::int64_t last_gradient_us = 0;
  std::vector<BucketTiming> buckets;          ///< as they were launched; of Sharded also the gathers of parameters
  std::vector<std::string> unreached;         ///< parameters that no rank's backward reached
  std::vector<NonFiniteGradient> non_finite;  ///< the same on all ranks; empty with NonFinite::kIgnore
  bool skipped = false;                       ///< gradients were set to undefined
  std::string bucket_choice;  ///< with bucket_bytes = kAuto, once it has picked: what, and why, in words
};

/// When buffers, as running statistics, which each rank changes by its own samples, are made equal.
enum class BufferSync : std::uint8_t {
  kOnce,       ///< when DataParallel is made
  kBroadcast,  ///< and after each synchronised backward: rank 0's
  kMean        ///< and after each synchronised backward: their mean, weighted as gradients are; of integers rank 0's
};

/// In place of a number: picked by measurement.
inline constexpr std::size_t kAuto = 0;

struct DataParallelOptions {
  /// Size of the bucket that leaves first, and of the others. Smaller ones leave earlier, larger ones move faster.
  /// bucket_bytes = kAuto starts with 8 MiB, measures the backward passes that follow the first, and lays the buckets
  /// out anew, once, with the size that then adds the least: from alpha and beta of the link (what predict_by() was
  /// given, else this host's calibration, else measured when DataParallel is made). SyncReport::bucket_choice says what
  /// it picked and why. Not with a communication hook.
  std::size_t first_bucket_bytes = std::size_t{1} << 20;
  std::size_t bucket_bytes = std::size_t{8} << 20;
  /// Start a bucket's reduction when it is full (true), or all of them when backward is done.
  bool overlap = true;
  /// Lay the buckets out once more after the first backward, in the order in which gradients really came.
  bool rebuild_buckets = true;
  /// Collective algorithm of the buckets.
  std::string algorithm = "auto";
  /// Ranks agree on what they found by the byte a parameter that they exchange anyway. Looking takes about 0.13 ns an
  /// element, at the speed of memory.
  NonFinite non_finite = NonFinite::kIgnore;
  BufferSync buffers = BufferSync::kOnce;
  /// Empty: all_reduce with mean.
  CommunicationHook communication_hook = {};
  /// Takes the first synchronised backward as that of all: what it reached on this rank, and how often, is what every
  /// other one reaches. So a layer may run again several times under activation checkpointing, each time with a
  /// gradient of its own: its bucket leaves after the last of them. And no bucket waits for parameters that this rank
  /// does not use. The first backward overlaps with nothing. A later one that is not like it is an Error (kMismatch) on
  /// all ranks, which names the first parameter that differs; gradients are then of no use. Passes under pause() may be
  /// any, and so may sparse gradients.
  bool static_graph = false;
  /// Names of parameters whose gradients are sparse (torch::kSparse). Those of torch::nn::Embedding and EmbeddingBag
  /// with sparse(true) need not be named.
  std::vector<std::string> sparse_parameters = {};
};

/// A model that is no module: each parameter with the name that messages give it.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Makes a model one of `group.size()` replicas that train in lockstep.
///
/// On construction every rank gets rank 0's parameters and buffers; if names, shapes or types differ, an Error
/// (kMismatch) names the first that does. From then on, after each `backward()` outside `pause()`, every parameter's
/// `.grad` is the mean over ranks of what was accumulated since `zero_grad`, each rank weighted by its number of
/// samples, and is the same to the bit on all ranks. `.grad` lives in the buckets.
///
/// A parameter that no rank's loss reached keeps its `.grad` as it is (undefined after zero_grad(set_to_none)); one
/// that only some ranks reached gets the mean, in which the others contribute their current gradient or zero.
///
/// Every rank must run backward equally often. A loss that reaches no parameter of the module on some rank runs no hook
/// there: the others then end with a timeout that names that rank. Gradients taken with torch::autograd::grad are not
/// synchronised; of buffers see BufferSync.
///
/// Sparse gradients travel as they are: ranks gather each other's rows and indices when backward is over, and `.grad`
/// is their mean, coalesced. Hooks do not see them. A sparse gradient of a parameter that is not known to have one, and
/// the other way round, is an Error (kUnsupported).
///
/// A backward that throws synchronises nothing more: call zero_grad and go on, if every rank threw. An Error of the
/// group comes out of `backward()` as it is.
///
/// A program may hold several, of one group, each for a model of its own: all ranks then run the same graphs, in which
/// gradients come in one order. Where they cannot, give each `group.split(0)`.
///
/// Parameters that are added, replaced, or begin to require a gradient after construction would not be synchronised:
/// the next synchronised backward is an Error (kMismatch) on all ranks that names the first such parameter and a rank
/// that has it, as long as it reaches any parameter that was there. If it reaches none, nothing of this object runs in
/// it, and the others wait; but the rank itself gets that error as soon as it calls step() here, or takes its next
/// batch from make_loader or join_batches, and the others are told when it ends. A parameter that changes its type is
/// an Error (kInvalidArgument). A parameter that is frozen later counts as not reached. The module has to stay where it
/// is for as long as backward runs. Not thread-safe.
class DataParallel {
 public:
  /// Throws Error (kInvalidArgument) if nothing requires a gradient, kUnsupported for a type or device that
  /// collectives do not take.
  DataParallel(const Group& group, torch::nn::Module& module, DataParallelOptions options = {});
  /// A TorchScript module, as torch::jit::load returns it.
  DataParallel(const Group& group, const torch::jit::Module& module, DataParallelOptions options = {});
  /// Parameters, and buffers: whatever requires no gradient is only made equal, now.
  DataParallel(const Group& group, const NamedTensors& tensors, DataParallelOptions options = {});
  ~DataParallel();
  DataParallel(DataParallel&&) noexcept;
  DataParallel& operator=(DataParallel&&) noexcept;
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// Weights the following backward passes: this rank's loss is a mean over `count` samples (or tokens). Collective:
  /// every rank calls it, at the same place. 0 is allowed: that rank then contributes nothing; 0 on all ranks is an
  /// Error (kInvalidArgument), as a negative number is. Holds until said otherwise. A loader of make_loader on the same
  /// group does this itself.
  void samples(std::int64_t count);

  /// The mean over ranks of what each computed from its samples, as a loss or an accuracy, weighted as gradients are:
  /// of any shape, without a graph, the same to the bit on all ranks. What an LBFGS closure returns must be this, since
  /// the optimizer decides by it. Collective and blocking.
  torch::Tensor mean(const torch::Tensor& value) const;

  /// Scales all gradients by one factor so that their 2-norm together is at most `max_norm`, and returns what it was
  /// before: the same on all ranks. Gradients without a finite norm stay as they are. Call it where gradients are
  /// synchronised: after a backward outside pause(). Each rank reads its share of them. Collective and blocking. Throws
  /// Error (kInvalidArgument) for a norm that is not positive.
  double clip_grad_norm(double max_norm);

  /// While the returned object lives, backward only accumulates locally. The next backward after it synchronises
  /// everything. It must go before the DataParallel does.
  class [[nodiscard]] Pause {
   public:
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    friend class DataParallel;
    explicit Pause(int& depth) : depth_(depth) { ++depth_; }
    int& depth_;
  };
  Pause pause();

  /// optimizer.step(): replicas are equal already. So one loop trains with this and with LocalSgd, whose
  /// replicas differ for a while.
  void step(torch::optim::Optimizer& optimizer);
  void synchronise() {}

  /// About the last synchronised backward.
  const SyncReport& report() const;
  /// Parameters that no rank's last synchronised backward reached.
  std::vector<std::string> parameters_without_gradient() const;
  /// Parameters whose `.grad` is this rank's own: a backward under pause(), or one that threw, added to it, and none
  /// has synchronised it since. Without those whose gradient is undefined or zero by now. Local.
  std::vector<std::string> parameters_not_reduced() const;

 private:
  std::shared_ptr<detail::Reducer> reducer_;
};

}  // namespace lockstep
