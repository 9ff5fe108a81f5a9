#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace lockstep {

class Loader;
class Sharded;

/// What this rank holds of one tensor of a training: the elements [begin, begin + data.numel()) of the whole tensor,
/// flattened in row-major order. So a checkpoint knows nothing of how a training is sharded, and what was saved by one
/// cut loads into any other.
struct TensorSlice {
  std::string name;                 ///< the whole tensor's
  std::vector<std::int64_t> shape;  ///< the whole tensor's
  std::int64_t begin = 0;
  torch::Tensor data;       ///< of any shape and strides; its elements count in row-major order. May be empty
  bool replicated = false;  ///< every rank lists the same whole tensor here, and all of them share the writing
  bool is_copy = false;     ///< another rank lists the same elements, and writes them
  /// For optimizers: the tensor object that one updates, where that is not `data` itself.
  torch::Tensor parameter{};
  /// Every rank lists a whole tensor of its own here, as running statistics are; rank 0 writes its.
  bool of_rank_zero = false;

  const torch::Tensor& updated() const { return parameter.defined() ? parameter : data; }
};

/// What a part of a training hands to a checkpoint, or asks of one.
struct StateContent {
  std::vector<TensorSlice> tensors;
  std::map<std::string, std::string> values;  ///< small things, the same on every rank
};

/// What a checkpoint holds, for parts that load from it.
class StoredState {
 public:
  struct Tensor {
    torch::ScalarType type = torch::kFloat32;
    std::vector<std::int64_t> shape;
  };
  virtual ~StoredState() = default;
  /// Null if it holds no such tensor.
  virtual const Tensor* find(const std::string& name) const = 0;
  /// Names that begin so, sorted.
  virtual std::vector<std::string> names(const std::string& prefix) const = 0;
  /// Throws Error (kInvalidArgument) if there is none.
  virtual const std::string& value(const std::string& name) const = 0;
  /// Null if there is none.
  virtual const std::string* find_value(const std::string& name) const = 0;
  /// Throws Error (kInvalidArgument): "<checkpoint> does not fit: <why>."
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;
};

/// A part of a training whose state goes into checkpoints; for what TrainingState has no function for.
class StatePart {
 public:
  virtual ~StatePart() = default;
  /// What the names of all that it writes are or begin with (then a dot follows), by which parts are told apart; empty:
  /// nobody looks after that.
  virtual std::string prefix() const { return {}; }
  /// What to write, as it is now. The tensors are read before the save returns.
  virtual StateContent save(int rank, int ranks) const = 0;
  /// The tensors to fill with what is stored, all of which is checked first. Changes nothing of the training.
  virtual std::vector<TensorSlice> targets(const StoredState& stored, int rank, int ranks) = 0;
  /// They are filled: takes them over, and the values.
  virtual void loaded(const StoredState& stored) = 0;
};

/// All that a training has to remember to go on: names the parts, of which it keeps references. Every rank adds the
/// same parts. The names that it gives tensors ("model.fc.weight", "optimizer.fc.weight.exp_avg") are what other
/// programs find in the files.
class TrainingState {
 public:
  TrainingState();
  ~TrainingState();
  TrainingState(TrainingState&&) noexcept;
  TrainingState& operator=(TrainingState&&) noexcept;

  /// Where a program's tensors are now; called at each save and load.
  using Slices = std::function<std::vector<TensorSlice>()>;

  /// Parameters, the same on all ranks, as DataParallel has them; and buffers, which may differ (running statistics,
  /// unless BufferSync makes them equal): rank 0's are saved, and loaded on all ranks. With Sharded at stage 3, or
  /// where its gather_as is not kFloat32, name the Sharded too, or hold what its gather() returns while saving and
  /// loading; a stage 3 that does neither is refused (kInvalidArgument). No part may be called as another is or begin
  /// as its name does ("model" and "model.ema": kInvalidArgument).
  TrainingState& module(const std::string& name, torch::nn::Module& module);
  /// The same of what `sharded` trains, at any stage: each rank writes and reads its own pieces, so that none ever has
  /// the whole. The files are the same, and load as whole tensors too. A save or load throws Error: kInvalidArgument
  /// while what gather() returned is held, and for a parameter that `sharded` was not given; kUnsupported for one that
  /// is sharded and whose elements are not in row-major order of memory.
  TrainingState& module(const std::string& name, torch::nn::Module& module, Sharded& sharded);
  /// Tensors that are cut over the ranks in any way. Every rank lists all names, with empty data where it holds none.
  TrainingState& tensors(const std::string& name, Slices slices);

  /// The state of an optimizer of torch (SGD, Adam, AdamW, RMSprop, Adagrad) or of this library, and its learning
  /// rates. Parameters go by their name in `names`.
  TrainingState& optimizer(const std::string& name, torch::optim::Optimizer& optimizer, torch::nn::Module& names);
  /// The same where this rank updates slices: `parameters` says which slice each parameter of the optimizer is. The
  /// state has the shape of the slice's `data`.
  TrainingState& optimizer(const std::string& name, torch::optim::Optimizer& optimizer, Slices parameters);
  /// The same for the optimizer whose steps `sharded` takes, at any stage. A save or load throws Error (kUnsupported)
  /// for a parameter that is sharded and whose elements are not in row-major order of memory.
  TrainingState& optimizer(const std::string& name, torch::optim::Optimizer& optimizer, const Sharded& sharded);

  /// The position, from which a loader goes on on any number of ranks. In the middle of an epoch a load throws Error
  /// (kInvalidArgument) for a loader of other samples, or of another order (Loader::order()): it would see some samples
  /// twice, and others not at all.
  TrainingState& loader(const std::string& name, Loader& loader);
  /// The state of torch's generator on each rank. Loaded on more ranks than it was saved on, the further ones get
  /// states of their own that depend on what was saved and on the rank.
  TrainingState& random(const std::string& name);
  /// A number, the same on every rank.
  TrainingState& counter(const std::string& name, std::int64_t& value);
  TrainingState& part(std::unique_ptr<StatePart> part);

  const std::vector<std::unique_ptr<StatePart>>& parts() const { return parts_; }

 private:
  void take_name(const std::string& name);

  std::vector<std::unique_ptr<StatePart>> parts_;
  std::vector<std::string> names_;
};

struct CheckpointOptions {
  /// Of that iteration and earlier ones; at least 1. Older ones go once a newer one is complete. Those of later
  /// iterations, which a run finds that began anew, stay, and are what `load` takes.
  int keep = 3;
};

/// What a save took on this rank.
struct SaveReport {
  std::int64_t iteration = 0;
  std::size_t bytes = 0;  ///< that this rank wrote
  double stall_ms = 0;    ///< for which training stood still
  double write_ms = 0;    ///< until the checkpoint was complete, on every rank
};

/// The checkpoints of a training, in a folder that all ranks see.
///
/// Each is a folder of its own (`iteration-00000100`): every rank writes one safetensors file with its part, all at the
/// same time, and then rank 0 the manifest, with checksums (CRC-32) under which all else stands; all of it is durable
/// before the folder gets its final name. So what has that name is complete, and a save that fails (a full disk, a rank
/// that dies) leaves the older ones as they are.
///
///   lockstep::Checkpoints checkpoints(world, "out");
///   lockstep::TrainingState state;
///   state.module("model", *net).optimizer("optimizer", optimizer, *net).loader("loader", *loader).random("random");
///   std::int64_t iteration = checkpoints.load(state).value_or(0);
///   ...
///   checkpoints.save_async(iteration, state);
///
/// A checkpoint loads on any number of ranks and into any sharding. On the same number, with the same program, training
/// goes on with the same bits. All functions are collective but where it says so. What fails on one rank is thrown as
/// the same Error on all of them, which says what happened, in which file, to which tensor, on which rank: kIo for what
/// the disk refused, kInvalidArgument for a checkpoint that is damaged or of another model. Not thread-safe.
class Checkpoints {
 public:
  /// Makes the folder if it is not there.
  Checkpoints(const Group& group, const std::filesystem::path& folder, const CheckpointOptions& options = {});
  /// Finishes what save_async began. What failed then and nobody has asked for is said on stderr.
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// Returns when the checkpoint is complete.
  void save(std::int64_t iteration, const TrainingState& state);
  /// Returns when the state is copied in memory; a thread does the rest, over a group of its own. What fails then is
  /// thrown by the next save, save_async or wait. A save under way is waited for first.
  void save_async(std::int64_t iteration, const TrainingState& state);
  /// Until what save_async began is complete.
  void wait();

  /// Loads the newest checkpoint that is whole and returns its iteration; none if there is none at all. Newer ones that
  /// are damaged are passed over, and `passed_over` says why. Throws, and changes nothing, if all are damaged, or if
  /// the newest whole one is of another model.
  std::optional<std::int64_t> load(TrainingState& state);
  /// Loads that one.
  void load(TrainingState& state, std::int64_t iteration);
  /// By the last load: a sentence for each.
  const std::vector<std::string>& passed_over() const;

  /// Iterations of the checkpoints there, ascending. Not collective.
  std::vector<std::int64_t> iterations() const;
  /// Where a checkpoint lies. Not collective.
  std::filesystem::path path(std::int64_t iteration) const;
  /// Of the last save that is complete, and waited for where it was save_async (by wait, or the next call). Not
  /// collective.
  const SaveReport& report() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Writes the whole tensors of a checkpoint (`checkpoints.path(iteration)`) whose names begin with `prefix` into one
/// safetensors file, named without it: what Hugging Face's library opens. One process does it, alone. Throws Error.
void export_safetensors(const std::filesystem::path& checkpoint, const std::filesystem::path& file,
                        const std::string& prefix = "model.");

/// The tensors of an archive that `torch::save(module, path)` wrote, by their dotted names. Throws Error
/// (kInvalidArgument, kIo) naming the file.
std::vector<std::pair<std::string, torch::Tensor>> read_torch_archive(const std::filesystem::path& path);

/// Copies tensors into a module that has all of them, with the same shapes and types, and no others. Throws Error
/// (kInvalidArgument) that names the first that does not fit, and then changes nothing.
void load_tensors(torch::nn::Module& module, const std::vector<std::pair<std::string, torch::Tensor>>& tensors);

}  // namespace lockstep
