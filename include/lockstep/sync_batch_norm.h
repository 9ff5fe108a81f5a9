#pragma once

#include <lockstep/group.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/module.h>
#include <torch/nn/options/batchnorm.h>
#include <torch/nn/pimpl.h>

namespace lockstep {

/// Batch normalisation over the samples of all ranks (BatchNorm1d, 2d and 3d in one): in training, mean and variance
/// are those of the global batch, each rank counting with what it holds, and the gradient is the whole batch's. So a
/// program that trains in one process trains on many with the same results, ragged batches included; a rank to which
/// the loader gave no samples counts nothing. Running statistics are the same to the bit on all ranks.
///
/// Input [N, C] or [N, C, ...], C = num_features. Parameters, buffers and names are BatchNorm's, so checkpoints fit
/// both. Each training forward and each backward is one small collective on `group`, blocking: all ranks run the same
/// graph, as often. In evaluation nothing is sent, unless there are no running statistics to go by. Statistics are
/// combined in double, ranks in order (Chan, Golub and LeVeque 1979).
///
/// forward throws Error: kInvalidArgument for another shape, and for a global batch with one value a channel;
/// backward: kUnsupported with create_graph.
class SyncBatchNormImpl : public torch::nn::Cloneable<SyncBatchNormImpl> {
 public:
  SyncBatchNormImpl(Group group, const torch::nn::BatchNormOptions& options);
  /// With the parameters and buffers that another normalisation of these options has.
  SyncBatchNormImpl(Group group, const torch::nn::BatchNormOptions& options, const torch::nn::Module& tensors);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);

  torch::nn::BatchNormOptions options;
  torch::Tensor weight, bias;                                    ///< undefined without affine()
  torch::Tensor running_mean, running_var, num_batches_tracked;  ///< undefined without track_running_stats()

 private:
  void require_shape(const torch::Tensor& input) const;
  double update_factor();

  Group group_;
};
TORCH_MODULE(SyncBatchNorm);

/// Replaces each BatchNorm1d, 2d and 3d in the tree below `root` by a SyncBatchNorm over the same parameters and
/// buffers, and returns how many. Do it before DataParallel and optimizer are made. Only what a torch::nn::Sequential
/// holds can be replaced: C++ gives no way into a member of a module of your own, where you declare a SyncBatchNorm
/// yourself. If there is such a one, throws Error (kUnsupported) that names it, and nothing is replaced.
int convert_sync_batch_norm(torch::nn::Module& root, const Group& group);

}  // namespace lockstep
