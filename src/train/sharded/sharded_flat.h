#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/module_tensors.h"
#include "train/sharded/buffer_pool.h"
#include "train/sharded/flat_layout.h"
#include "train/sharded/gather_log.h"
#include "train/sharded/wire_code.h"

namespace lockstep {

/// What a rank keeps of a flat's values between uses: all of them, or its own piece.
enum class Keep { kWhole, kPiece };

struct FlatOptions {
  FlatOptions(Keep kept) : keep(kept) {}  // NOLINT(google-explicit-constructor): most say no more
  FlatOptions(Keep kept, GatherAs as, std::shared_ptr<BufferPool> from)
      : keep(kept), gather_as(as), wires(std::move(from)) {}

  Keep keep;
  GatherAs gather_as = GatherAs::kFloat32;
  std::shared_ptr<BufferPool> wires;  ///< for what is gathered as something else
};

/// Parameters of one type in one flat buffer that is cut into a piece a rank (Rajbhandari et al., "ZeRO", SC 2020). The
/// module's parameters either are whole, tensors over the buffer, or are this rank's part of themselves: a
/// one-dimensional tensor over its piece, of no elements where the piece has nothing of the parameter. They stay the
/// same torch tensors all the while, so optimizers, hooks and autograd know them by either.
///
/// With Keep::kPiece the buffer exists only from begin_gather to release. All tensors over it share one StorageImpl,
/// which stays and is given memory and robbed of it: so what autograd saved for backward follows.
///
/// Where gathers carry fewer bits the piece has memory of its own, also with Keep::kWhole: what the buffer holds is
/// what came through.
class ShardedFlat {
 public:
  /// `parameters` is what the layout's indices refer to; all are whole. On return they are still, and lie in the
  /// buffer. Throws Error (kOutOfMemory).
  ShardedFlat(const Group& group, std::shared_ptr<BufferPool> pool, const FlatLayout& layout,
              const std::vector<ModuleTensor>& parameters, FlatOptions options);
  ShardedFlat(const ShardedFlat&) = delete;
  ShardedFlat& operator=(const ShardedFlat&) = delete;

  const FlatLayout& layout() const { return layout_; }
  Keep keep() const { return keep_; }
  std::size_t size() const { return parameters_.size(); }
  const ModuleTensor& parameter(std::size_t i) const { return parameters_[i]; }
  /// Of the shape and strides of parameter i; its memory is there only while is_whole().
  const torch::Tensor& whole(std::size_t i) const { return wholes_[i]; }
  /// This rank's part of parameter i.
  const torch::Tensor& piece(std::size_t i) const { return pieces_[i]; }
  /// The same, as bytes of the buffer.
  ByteRange part(std::size_t i) const;
  /// Its first element in parameter i.
  std::int64_t begin(std::size_t i) const;
  /// "a, b, c and 4 more".
  const std::string& names() const { return names_; }
  void rename(std::size_t i, const std::string& name);
  /// Of the wrapped block whose parameters these are; empty if of none.
  const std::string& block() const { return block_; }
  void set_block(std::string name) { block_ = std::move(name); }
  /// What an operation on it is, for a report, before it runs.
  BucketTiming described(Collective collective) const;
  /// Its gathers go there from here on, under this index; `log` outlives it.
  void log_gathers(GatherLog& log, int index);

  bool is_whole() const { return whole_; }
  /// Whether gathers carry something else than the values.
  bool is_coded() const { return code_.has_value(); }
  /// Starts to bring all ranks' pieces together; does nothing if that is under way or done. Collective.
  void begin_gather();
  /// The same, of the values themselves, also where others came together before.
  void begin_exact_gather();
  /// Waits for it; the parameters are whole from here on.
  void finish_gather();
  /// The parameters are this rank's pieces from here on; with Keep::kPiece the buffer goes back to the pool.
  void release();
  /// What somebody wrote to the parameters while they were whole, or put in their place, is kept.
  void store();
  /// Where reading an archive has given parameters other memory while they are whole: takes over what is there. Throws
  /// as store(); kInvalidArgument too where they stand for what a gather in fewer bits made of them.
  void adopt_replaced();
  const std::string& name_of(std::size_t parameter) const { return parameters_[parameter].name; }
  /// Throws Error (kInvalidArgument) if somebody wrote to parameters that stand for what came through: with the next
  /// gather it would be gone.
  void require_as_gathered() const;
  [[noreturn]] void refuse_written() const;
  /// Without communication: the parameters are whole again, over what this rank has. For Keep::kWhole.
  void show_whole();
  /// Whether autograd, or somebody else, holds tensors over the buffer.
  bool is_held_elsewhere() const;

 private:
  void make_tensors(torch::ScalarType type);
  void give_storage(const RegisteredMemory& memory);
  void take_storage();
  void await_gather();
  void start(bool coded);
  void decode();
  /// Else it lies in the buffer.
  bool has_own_piece() const { return keep_ == Keep::kPiece || code_.has_value(); }
  std::byte* own_piece() const;
  torch::Tensor wire_rows() const;

  Group group_;
  std::shared_ptr<BufferPool> pool_;
  FlatLayout layout_;
  std::vector<ModuleTensor> parameters_;
  Keep keep_;
  std::shared_ptr<BufferPool> wires_;
  std::optional<WireCode> code_;
  std::string names_;
  RegisteredMemory buffer_;
  RegisteredMemory wire_;     // while a coded gather is under way
  torch::Tensor flat_;        // over the buffer
  torch::Tensor piece_flat_;  // this rank's piece, gaps included
  std::vector<torch::Tensor> wholes_;
  std::vector<torch::Tensor> pieces_;
  std::size_t own_holders_ = 0;  // of the storage, when nobody else holds it
  bool whole_ = true;
  bool gathering_ = false;
  std::string block_;
  int index_ = 0;
  GatherLog* log_ = nullptr;
  std::optional<double> predicted_ms_;  // of a gather
  BucketTiming gather_timing_;          // of the one under way
  std::shared_ptr<OperationRecord> record_;
  Pending gather_;
};

}  // namespace lockstep
