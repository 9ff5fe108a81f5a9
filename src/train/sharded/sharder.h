#pragma once

#include <lockstep/sharded.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "train/batch_share.h"
#include "train/gradient_hook.h"
#include "train/module_tensors.h"
#include "train/parameter_watch.h"
#include "train/sharded/block_schedule.h"
#include "train/sharded/buffer_pool.h"
#include "train/sharded/piece_gradients.h"
#include "train/sharded/scatter_run.h"
#include "train/sharded/shard_groups.h"
#include "train/sharded/sharded_flat.h"

namespace lockstep::detail {

/// The flats that hold these parameters, those registered last first.
std::vector<FlatLayout> flat_layouts(const std::vector<ModuleTensor>& parameters, BucketLimits limits, int pieces);

/// What Sharded does. Values lie in ShardedFlats at stages 1 and up; gradients in DataParallel's buckets at stages 0
/// and 1, and in PieceGradients above, where a ScatterRun takes them through one synchronised backward.
class Sharder : public std::enable_shared_from_this<Sharder> {
 public:
  Sharder(const Group& group, ShardedOptions options);
  ~Sharder();
  void attach(torch::nn::Module& module);
  /// Shards a block's parameters; nullptr where the stage leaves them whole. Collective.
  std::shared_ptr<BlockHooks> wrap(const torch::nn::Module& block);
  /// While anybody holds it, all parameters are whole; what was written to them then is kept. Collective.
  void hold_whole();
  /// Says nothing of a peer that fails meanwhile: whoever uses the group next is told.
  void let_go() noexcept;

  const Group& group() const { return group_; }
  int stage() const { return options_.stage; }
  void step(torch::optim::Optimizer& optimizer);
  double clip_grad_norm(double max_norm);
  std::shared_ptr<void> pause();
  std::size_t registered_bytes() const;
  std::size_t buffer_bytes() const { return pool_->bytes() + wires_->bytes(); }
  std::vector<ParameterPiece> pieces() const;
  std::vector<ParameterPiece> checkpoint_pieces();
  /// Collective.
  void pieces_loaded();
  /// Adagrad makes its state when it is made, of whole parameters: leaves this rank's part of it.
  void cut_eager_state(torch::optim::Optimizer& optimizer) const;
  const SyncReport& report() const;
  std::vector<std::string> unreached() const;

 private:
  class InPieces;
  class Block;
  /// One that reached blocks.
  struct OpenBackward {
    std::shared_ptr<ScatterRun> run;  ///< whose end is that of this backward, not of one within it; or none
  };
  /// A block's parameter, at one of the places where it is registered.
  struct Registered {
    std::string name;
    const void* parameter = nullptr;
    bool inside = false;  ///< of its block
  };
  struct Place {
    std::size_t flat = 0;
    std::size_t slot = 0;
  };

  bool scatters() const { return options_.stage >= 2; }
  void require_attached() const;
  /// Returns the indices of the new flats.
  std::vector<std::size_t> add_flats(const std::vector<ModuleTensor>& parameters, BucketLimits limits, Keep keep);
  void add_hooks(std::size_t first, const std::vector<std::size_t>& flats);
  std::vector<ModuleTensor> outside_blocks(const std::vector<ModuleTensor>& tensors) const;
  std::vector<ModuleTensor> own_tensors(const torch::nn::Module& block) const;
  /// The index of a wrapped block; none of any other module.
  static std::optional<std::size_t> block_of(const torch::nn::Module& module);
  /// Where a module registers parameters of blocks. `on_the_way` are the blocks that the path to it goes through.
  void find_registered(const torch::nn::Module& module, const std::string& path, std::set<std::size_t> on_the_way,
                       std::vector<Registered>& found) const;
  /// Throws Error (kInvalidArgument) for a block's parameter that is registered outside of it too, where it is not
  /// whole when it is used.
  void require_inside_blocks(const torch::nn::Module& module) const;
  /// Parameters of blocks are called as the module calls them from here on.
  void take_names(const std::vector<ModuleTensor>& tensors);
  /// And so are blocks.
  void name_blocks(const torch::nn::Module& module);
  /// Flats that are kept whole and hold what came through hold that of now, or the values themselves.
  void gather_wholes(bool exact);
  void before_forward(std::size_t block);
  void after_forward(std::size_t block, bool records_graph);
  void before_backward(std::size_t block);
  void open_backward();
  torch::Tensor before_gradient(std::size_t parameter, const torch::Tensor& gradient);
  void on_gradient(std::size_t parameter);
  std::shared_ptr<ScatterRun> current_run();
  void finish(ScatterRun& run);
  void agree_on_order(const ScatterRun& run);
  /// Names of parameters whose gradients are this rank's own.
  std::vector<std::string> not_reduced() const;
  void require_reduced() const;
  /// Throws Error (kUnsupported) for an optimizer that cannot work on pieces.
  void require_takes(const torch::optim::Optimizer& optimizer) const;
  void require_let_go(const char* what) const;
  /// This rank's part of a whole gradient that has the shape of the parameter.
  torch::Tensor part_of(const torch::Tensor& gradient, std::size_t parameter) const;
  void throw_fault();
  /// Where parameters are whole between steps: those of all ranks' pieces, which have changed.
  void gather_new_values();
  ParameterPiece piece_of(const ShardedFlat& flat, std::size_t slot) const;

  /// Adds up float64s over the ranks of one copy: the same bits on all ranks of all copies. Blocking.
  void sum_over_shards(Buffer sums, const char* purpose) const;

  Group group_;
  ShardedOptions options_;
  ShardGroups groups_;
  BatchShare& share_;
  std::vector<ModuleTensor> parameters_;   // the trainable ones, each once
  std::unique_ptr<DataParallel> replica_;  // stages 0 and 1
  std::optional<ParameterWatch> watch_;    // of the module, once attached; stages 2 and 3
  std::shared_ptr<BufferPool> pool_;
  std::shared_ptr<BufferPool> wires_;  // for what is gathered in fewer bits
  GatherLog gathers_;                  // before those who write to it
  std::vector<std::unique_ptr<ShardedFlat>> flats_;
  std::vector<std::shared_ptr<PieceGradients>> gradients_;  // by flat
  std::vector<Place> places_;                               // by parameter
  std::vector<std::size_t> module_order_;                   // of parameters_
  std::vector<std::unique_ptr<ShardedFlat>> fixed_;         // of blocks: what is not trained
  BlockSchedule schedule_;
  std::vector<std::optional<std::size_t>> block_of_flat_;
  std::vector<std::vector<ShardedFlat*>> flats_of_block_;  // fixed ones too
  std::unordered_map<const void*, std::size_t> owners_;    // blocks, by parameter's TensorImpl
  std::weak_ptr<OpenBackward> backward_;                   // there while a backward of blocks runs, as run_ is
  bool attached_ = false;
  std::vector<std::size_t> order_;  // in which flats leave
  bool order_agreed_ = false;
  std::vector<std::uint8_t> reached_;  // by parameter: here, and after a backward on any rank
  std::vector<std::uint8_t> reached_here_;
  int pause_depth_ = 0;
  int holders_ = 0;  // of the wholes
  std::size_t pool_bytes_before_hold_ = 0;
  std::exception_ptr fault_;       // of letting them go, where nothing could be thrown
  std::weak_ptr<ScatterRun> run_;  // owned by a callback that waits in autograd's engine
  SyncReport report_;
  std::deque<GradientHook> hooks_;  // last: they call into all of the above
};

}  // namespace lockstep::detail
