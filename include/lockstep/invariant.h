#pragma once

#include <lockstep/data_parallel.h>
#include <lockstep/loader.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace lockstep {

struct InvariantOptions {
  /// Micro-batches that each global batch is cut into: a power of two, and at least the number of ranks.
  int micro_batches = 8;
  /// Threads that torch computes with, set when the InvariantParallel is made. Results depend on it, so it has to be
  /// the same wherever they are to be the same.
  int threads = 1;
  /// What the model draws (dropout) in a micro-batch depends on this, the iteration and the micro-batch only.
  std::uint64_t seed = 0;
  /// Gradients travel in pieces of this size.
  std::size_t bucket_bytes = std::size_t{8} << 20;
};

/// What the last backward took, on this rank.
struct InvariantReport {
  double compute_ms = 0;  ///< forward, backward and the sum over this rank's micro-batches
  double communication_ms = 0;
};

/// Data parallelism whose results do not depend on the number of ranks, to the last bit: 1, 2, 4, ... up to
/// `micro_batches` ranks compute the same losses, gradients and parameters, and a training saved on some of them goes
/// on with the same bits on others.
///
/// Micro-batch v of V of a global batch of m samples is the samples [m v / V, m (v + 1) / V). Each is computed by
/// itself, and gradients and losses are summed along one fixed binary tree over the V micro-batches (pairs, then pairs
/// of pairs): a rank's own micro-batches are a subtree, and the ranks' sums meet in canonical order. The price is the
/// efficiency of small micro-batches, memory for log2(V / ranks) + 1 more sets of gradients, and communication that
/// does not overlap with backward.
///
///   lockstep::InvariantParallel replica(world, *net, {.micro_batches = 8});
///   auto loader = lockstep::make_loader(dataset, world, {.global_batch = 64});
///   for (auto& batch : loader->epoch()) {
///     double loss = replica.backward(
///         batch, [&](auto& data, auto& target) { return loss_of(net->forward(data), target); });
///     optimizer.step();
///   }
///
/// It holds for one machine type, libtorch and build: other instructions round differently. The shapes that the model
/// computes with must not depend on the ranks: pad samples to a fixed length, and give the loader no lengths or shares.
/// Optimizers of torch and clip_grad_norm_, which see the same gradients on all ranks, keep it so. Parameters are
/// float32 or float64, else Error (kUnsupported). Ranks that are threads of one process share torch's random numbers:
/// there a model must draw none. Parameters that change after construction are an Error, as under DataParallel. Not
/// thread-safe.
class InvariantParallel {
 public:
  /// The loss of some samples: a scalar, their mean.
  using LossOf = std::function<torch::Tensor(const torch::Tensor& data, const torch::Tensor& target)>;
  /// The loss of the samples [begin, end) of the global batch.
  using LossOfRange = std::function<torch::Tensor(std::int64_t begin, std::int64_t end)>;

  /// Gives all ranks rank 0's parameters. Collective. Throws Error (kInvalidArgument) for a number of ranks or
  /// micro-batches that cannot be, kMismatch if the ranks' models or options differ.
  InvariantParallel(const Group& group, torch::nn::Module& module, const InvariantOptions& options = {});
  InvariantParallel(const Group& group, const NamedTensors& tensors, const InvariantOptions& options = {});
  ~InvariantParallel();
  InvariantParallel(InvariantParallel&&) noexcept;
  InvariantParallel& operator=(InvariantParallel&&) noexcept;
  InvariantParallel(const InvariantParallel&) = delete;
  InvariantParallel& operator=(const InvariantParallel&) = delete;

  /// Runs forward and backward of this rank's micro-batches. On return every parameter's `.grad` is the mean over the
  /// global batch, in place of what it was; undefined where no rank's loss reached the parameter. Returns the mean loss
  /// of the global batch. Collective. Throws Error (kInvalidArgument) if torch's number of threads was changed, and
  /// (kUnsupported) if the model changes a buffer as it computes, as BatchNorm does.
  double backward(const Batch& batch, const LossOf& loss_of);
  /// The same for samples that come from elsewhere.
  double backward(std::int64_t global_samples, const LossOfRange& loss_of);

  /// Calls of backward so far; for TrainingState::counter, so that what the model draws goes on where it was.
  std::int64_t& iteration();
  const InvariantReport& report() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep
