#pragma once

#include <lockstep/data_parallel.h>
#include <lockstep/wrapped.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

namespace detail {
class Sharder;
}

/// Over which ranks a copy of what is sharded is cut.
enum class Sharding : std::uint8_t {
  kWorld,  ///< all of the group: the least memory
  /// Those of each host, as Group::hosts() says them, and every host has a copy (FSDP's HYBRID_SHARD, MiCS, ZeRO++'s
  /// hpZ): values are gathered within a host only, and what goes between hosts is each rank's piece of the gradients,
  /// once an iteration. Takes equally many ranks on each host. On a single host it is kWorld.
  kHost,
};

/// What gathers of float32 values carry. The optimizer works on float32 in any case; what forward and backward compute
/// with, on all ranks the same, is what came through. Other types travel as they are.
enum class GatherAs : std::uint8_t {
  kFloat32,
  kBfloat16,    ///< half the bytes, 8 bits of mantissa
  kInt8Blocks,  ///< 1.06 bytes a value: int8, and a float32 scale for each 64 of them (ZeRO++'s qwZ)
};

struct ShardedOptions {
  /// What is cut into a piece a rank instead of being whole on each: 0 nothing (DataParallel), 1 the optimizer's state,
  /// 2 the gradients too, 3 the parameters of wrapped blocks too. Bytes a float32 parameter with Adam, on N ranks: 16,
  /// 8 + 8/N, 4 + 12/N, 16/N.
  /// With Sharding::kHost N is the ranks of a host.
  int stage = 3;
  Sharding sharding = Sharding::kWorld;
  /// Other than kFloat32 it takes 4/N bytes a parameter more at stages 1 and 2 (and at 3 outside blocks), for the
  /// values that the optimizer works on.
  GatherAs gather_as = GatherAs::kFloat32;
  /// Size of the bucket that leaves first, and of the others, as of DataParallel. Stage 2 holds two of them at a time.
  std::size_t first_bucket_bytes = std::size_t{1} << 20;
  std::size_t bucket_bytes = std::size_t{8} << 20;
  /// Start a bucket's reduction when it is full (true), or all of them when backward is done.
  bool overlap = true;
  /// Stage 3: gather the next block while one computes. Holds one more block.
  bool prefetch = true;
  /// Stage 3: free a block after its forward and gather it again for its backward (true), or leave it whole between.
  bool reshard_after_forward = true;
  /// Collective algorithm of the gradients' reduction.
  std::string algorithm = "auto";
};

/// What parameters, gradients and the state of Adam take on each of `ranks` ranks (with Sharding::kHost: of a host), in
/// bytes a float32 parameter: 16, 8 + 8/N, 4 + 12/N, 16/N. Activations, and the blocks or buckets on their way, come on
/// top.
double predicted_bytes_per_parameter(int stage, int ranks);

/// This rank's part of a parameter, for code that keeps or measures what optimizers work on.
struct ParameterPiece {
  std::string name;         ///< as the module has it
  torch::Tensor parameter;  ///< the module's own tensor
  torch::Tensor values;     ///< elements [begin, end) of it in the order of memory, one-dimensional; may be none
  std::vector<std::int64_t> shape;  ///< of the whole parameter
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool is_copy = false;   ///< a rank of host 0 has the same piece (Sharding::kHost), and saves it
  bool row_major = true;  ///< the order of memory is that of the dimensions, the last one fastest
};

/// Trains one module on `group.size()` ranks that share what training holds beside the activations: ZeRO (Rajbhandari
/// et al., SC 2020), stages 1 to 3 (the third is what PyTorch calls FSDP). The results are DataParallel's.
///
///   lockstep::Sharded shard(world, *net, {.stage = 2});
///   torch::optim::AdamW optimizer(net->parameters(), 3e-4);   // any element-wise optimizer, parameter groups too
///   ...
///   optimizer.zero_grad();
///   loss_of(net->forward(batch.data), batch.target).backward();
///   shard.clip_grad_norm(1.0);
///   shard.step(optimizer);                                    // not optimizer.step()
///
/// Parameters are whole but for the inside of step(): there each, and its `.grad`, is this rank's part of itself, a
/// one-dimensional tensor, and so is the optimizer's state for it. At stage 2 `.grad` is that after backward() already;
/// at stages 0 and 1 it is the whole mean, in DataParallel's buckets. A parameter of which this rank has no part has no
/// `.grad` in step().
///
/// As with DataParallel: on construction every rank gets rank 0's parameters and buffers; after each backward outside
/// `pause()` gradients are means over ranks, weighted by samples; a parameter that no rank's loss reached keeps its
/// `.grad` as it is; every rank runs backward equally often; and parameters that are added, replaced, or begin to
/// require a gradient later are an Error (kMismatch) on all ranks in the next such backward. Several backwards before a
/// step add up: at stages 0 and 1 their mean is taken of the sum, at stage 2 the sum of the means, which rounds
/// differently.
///
/// Optimizers must work element by element (SGD, Adam, AdamW, RMSprop, Adagrad), or be Lars or Lamb of
/// lockstep/optim.h, whose norms step() then takes of whole parameters, in one all-reduce for all of them; LBFGS is
/// refused, and at stages 1 to 3 OneBitAdam, which averages momenta itself. Optimizers save their state for this rank's
/// pieces only.
///
/// **Stage 3** shards the parameters of blocks too. C++ modules have no forward hooks, so a block says at construction
/// that it is one:
///
///   struct Net : torch::nn::Module {
///     explicit Net(lockstep::Sharded& shard) {
///       for (int i = 0; i < 12; ++i)
///         layers->push_back(shard.wrap(Layer(options)));  // its whole values exist here only
///       ...
///   lockstep::Sharded shard(world, {.stage = 3});
///   Net net(shard);
///   shard.attach(net);       // the rest: whole on every rank, its gradients and optimizer's state sharded
///
/// A block's parameters are whole while its forward or its backward runs; at other times each is this rank's part of
/// itself (as FSDP's original parameters are), which the optimizer works on, and saving or loading the block is an
/// Error (kInvalidArgument). So what a loss uses of a block has to leave through the return value of its forward. Ranks
/// must run the same blocks in the same order, and reach the same parameters of them: kMismatch otherwise. Blocks may
/// be applied several times, and nested; a parameter that two blocks share, or a block and what is outside of it,
/// belongs in one that contains both (kInvalidArgument). Frozen parameters are sharded too, and stay whole until a
/// backward ends. Under activation checkpointing blocks that are computed once more are whole from there to their
/// gradients: all of those that are checkpointed together. backward(create_graph = true) is refused (kUnsupported). At
/// other stages wrap() changes nothing.
///
/// The module must outlive this object. Not thread-safe; every member that is said to be collective is called by all
/// ranks at the same place.
class Sharded {
 public:
  /// Throws Error: kInvalidArgument for a stage that there is not, hosts that Sharding::kHost does not take, or a
  /// module without anything to train; kMismatch naming what differs between ranks; kUnsupported for a parameter that
  /// collectives do not take, or that is to get sparse gradients at stages 1 and up. Collective.
  Sharded(const Group& group, torch::nn::Module& module, ShardedOptions options = {});
  /// Without a module yet: for wrapped blocks. Throws Error (kInvalidArgument) for a stage that there is not, or hosts
  /// that Sharding::kHost does not take. Collective.
  explicit Sharded(const Group& group, ShardedOptions options = {});
  ~Sharded();
  Sharded(Sharded&&) noexcept;
  Sharded& operator=(Sharded&&) noexcept;
  Sharded(const Sharded&) = delete;
  Sharded& operator=(const Sharded&) = delete;

  /// Makes `block` one that stage 3 shards: every rank gets rank 0's values, and keeps its piece. Errors as the
  /// constructor's, and kInvalidArgument after attach(). Collective.
  template <class M>
  Wrapped<M> wrap(const torch::nn::ModuleHolder<M>& block) {
    return Wrapped<M>(std::make_shared<detail::WrappedImpl<M>>(block.ptr(), adopt(*block)));
  }
  /// Takes the module that the blocks are part of. Once, before the first backward; errors as the constructor's, and
  /// kInvalidArgument for a module that lacks a block. Collective.
  void attach(torch::nn::Module& module);

  /// While the returned object lives all parameters are whole on every rank, to be read, saved, or written: what every
  /// rank writes alike is kept. They are the optimizer's values, whatever GatherAs makes of them elsewhere. Not in the
  /// middle of forward, backward or step. Collective, its end too.
  class [[nodiscard]] Whole {
   public:
    explicit Whole(std::shared_ptr<void> held) : held_(std::move(held)) {}

   private:
    std::shared_ptr<void> held_;
  };
  /// Held twice it ends with the last; a step() meanwhile is refused (kInvalidArgument). If a peer fails at its end,
  /// whatever is done next with the group says so.
  Whole gather();

  /// optimizer.step() on this rank's pieces, and all ranks' new values. Throws Error (kInvalidArgument) for gradients
  /// that were accumulated under pause() and never reduced, on each rank that has such, while gather() is held, and
  /// where somebody wrote to parameters that stood for what gather_as made of them; (kUnsupported) for LBFGS and
  /// OneBitAdam. Collective.
  void step(torch::optim::Optimizer& optimizer);

  /// Scales all gradients so that their Euclidean norm, taken over all ranks' pieces, is at most `max_norm`; returns
  /// what it was. Between backward and step; throws as step() does for gradients that were not reduced. Collective.
  double clip_grad_norm(double max_norm);

  /// As DataParallel's: the weight of this rank's next backward passes. Collective.
  void samples(std::int64_t count);

  /// As DataParallel's: while the returned object lives, backward only accumulates locally, whole gradients at every
  /// stage.
  class [[nodiscard]] Pause {
   public:
    explicit Pause(std::shared_ptr<void> held) : held_(std::move(held)) {}

   private:
    std::shared_ptr<void> held_;
  };
  Pause pause();

  const Group& group() const;
  int stage() const;
  /// Bytes of registered memory that this rank holds: values, gradients, and what is on its way between ranks. The
  /// other ranks of the host have them mapped too; nothing of it is theirs, and no rank saves a copy by it. At stages 0
  /// and 1 buckets are made, and counted, in the first backward that synchronises.
  std::size_t registered_bytes() const;
  /// Of those the bytes of buffers that blocks and buckets take in turn: for gathered values, and for gradients on
  /// their way. What was needed at once; 0 at stage 0, and at 1 if gathers carry no fewer bits.
  std::size_t buffer_bytes() const;
  /// Of every trainable parameter, each once, in the order of the module. At stage 0 all of them whole.
  std::vector<ParameterPiece> pieces() const;
  /// What a checkpoint saves and loads where no rank has the whole: those, and of wrapped blocks (stage 3) the frozen
  /// parameters too. Other frozen ones are whole on every rank. Throws Error (kInvalidArgument) while gather() is held,
  /// whose end would undo what is loaded.
  std::vector<ParameterPiece> checkpoint_pieces();
  /// Values were written to the pieces: what is whole between steps is made of them again. Collective.
  void pieces_loaded();
  /// Of state that an optimizer made of whole parameters when it was made (Adagrad's sums) leaves this rank's part, as
  /// step() does.
  void cut_state(torch::optim::Optimizer& optimizer) const;
  /// About the last synchronised backward, with the gathers since the one before it, and of the step() after it.
  const SyncReport& report() const;
  /// Parameters that no rank's last synchronised backward reached.
  std::vector<std::string> parameters_without_gradient() const;

 private:
  std::shared_ptr<detail::BlockHooks> adopt(const torch::nn::Module& block);

  std::shared_ptr<detail::Sharder> sharder_;
};

}  // namespace lockstep
