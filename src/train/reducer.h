#pragma once

#include <lockstep/data_parallel.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/backward_run.h"
#include "train/batch_share.h"
#include "train/bucket.h"
#include "train/bucket_choice.h"
#include "train/gradient_hook.h"
#include "train/gradient_listeners.h"
#include "train/module_tensors.h"
#include "train/parameter_watch.h"
#include "train/sparse_gradients.h"

namespace lockstep::detail {

/// What DataParallel does: hooks on every parameter, gradients in buckets, one BackwardRun for each synchronised
/// backward.
class Reducer : public std::enable_shared_from_this<Reducer> {
 public:
  /// Of a model's `tensors`, some of which are `buffers`, and which `watch` watches. Collective: compares the replicas
  /// and gives all of them rank 0's values.
  Reducer(const Group& group, const std::vector<ModuleTensor>& tensors, std::vector<ModuleTensor> buffers,
          ParameterWatch watch, DataParallelOptions options);

  const Group& group() const { return group_; }
  const BatchShare& share() const { return share_; }
  /// Those that are synchronised.
  std::vector<torch::Tensor> parameters() const;
  int& pause_depth() { return pause_depth_; }
  const SyncReport& report() const { return report_; }
  /// Names of parameters whose gradients have changed here since the last synchronised backward, and are not zero.
  std::vector<std::string> not_reduced() const;

 private:
  torch::Tensor weighted(std::size_t parameter, const torch::Tensor& gradient) const;
  void on_gradient(std::size_t parameter);
  void on_sparse_gradient(std::size_t parameter);
  bool in_slot(std::size_t parameter) const;
  std::shared_ptr<BackwardRun> current_run();
  void finish(BackwardRun& run);
  /// Why this backward is not one that trains replicas: a sentence, or none.
  std::string trouble_of(const BackwardRun& run) const;
  /// Of the backward whose maximum over ranks is there.
  std::vector<std::string> unreached() const;
  /// What this rank adds to the mean of a parameter whose gradient does not come in this backward.
  void fill_slot(std::size_t parameter);
  /// Of what lies in its slot.
  std::uint8_t verdict_of(std::size_t parameter) const;
  void take_means();
  void judge_non_finite();
  /// Throws Error (kMismatch), on this rank alone, if a backward reached parameters that replaced those which the hooks
  /// are on. Where it reached none of those too, it synchronised nothing, and the other ranks wait for it.
  void refuse_replaced() const;
  void rebuild(BackwardRun& run);
  std::shared_ptr<const BucketSet> make_buckets(const std::vector<BucketLayout>& layouts,
                                                const std::function<void(const Bucket&)>& made) const;
  /// Throws Error (kOutOfMemory) where there are none.
  void require_buckets() const;
  std::vector<BucketLayout> lay_out_in(const std::vector<std::size_t>& order) const;

  Group group_;
  DataParallelOptions options_;
  BatchShare& share_;                     // the group's, as the loader sets it
  GradientListeners& listeners_;          // likewise
  std::vector<ModuleTensor> parameters_;  // the trainable ones, each once; but for those in sparse_
  SparseGradients sparse_;
  std::vector<ModuleTensor> module_buffers_;
  ParameterWatch watch_;
  std::shared_ptr<const BucketSet> buckets_;  // none once there was no memory to lay them out anew
  // A byte a parameter, of this rank before the collective and the largest of all ranks after it: did its gradient
  // change since the last synchronised backward, and did a rank find it infinite or not a number? Behind them one that
  // is not 0 if a rank has something to refuse.
  RegisteredMemory reached_memory_;
  std::uint8_t* reached_;
  std::vector<std::uint8_t> reached_here_;
  bool rebuild_pending_;
  std::optional<BucketChoice> choice_;  // if bucket_bytes = kAuto
  Arrivals expected_;                   // with static_graph, once the first backward is over, what came in it
  int pause_depth_ = 0;
  std::shared_ptr<const GradientListeners::Look> look_;
  // Owned by the callback that waits in autograd's engine: when a backward throws the engine destroys that, and the run
  // with it.
  std::weak_ptr<BackwardRun> run_;
  SyncReport report_;
  std::deque<GradientHook> hooks_;  // last: they call into all of the above
};

}  // namespace lockstep::detail
