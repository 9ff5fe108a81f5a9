#pragma once

#include <lockstep/batch_iterator.h>
#include <lockstep/group.h>
#include <torch/data/example.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {

class Sampler;
template <class T>
class Prefetch;

/// Which samples this rank sees: epoch e visits all `dataset_size` samples once, in an order that depends on (seed,
/// epoch) only, cut into global batches of m = `global_batch` (the last one may be shorter, unless `drop_last`); rank r
/// of p takes the samples [m r / p, m (r + 1) / p) of each, if neither `lengths` nor `shares` are given. Any number of
/// ranks sees the same global batches in any case.
struct LoaderOptions {
  std::int64_t global_batch = 0;  ///< samples an iteration on all ranks together; or say per_rank_batch
  std::int64_t per_rank_batch =
      0;  ///< samples an iteration on each rank (PyTorch's habit); exactly one of the two is set
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;
  /// The length of each sample (tokens, say), from 1 to 2^31 - 1. Samples of similar length then meet in a global
  /// batch, and each is cut so that the ranks' samples are equally long together, rather than equally many: those of a
  /// rank are sorted, longest first. Without `shuffle` the batches are the dataset's own, and only the cut is by
  /// length.
  std::vector<std::int64_t> lengths = {};
  /// A weight for each rank, for ranks of unequal speed: what it gets of each global batch (with `lengths`, of the sum
  /// of its lengths) over the sum of all weights. 0 is allowed. See also Loader::balance. Empty: all alike.
  std::vector<double> shares = {};
  /// Threads that fetch batches before they are asked for, each torn down at the end of its epoch's loop. With several,
  /// Fetch (of a dataset, get) is called by several at once, and must allow that. What comes, and in which order, is
  /// the same as without, unless fetching draws from a generator that the calls share. 0: the calling thread fetches.
  int workers = 0;
  /// How many batches may be ready or under way beyond the one delivered; memory for that many. 0: two a worker.
  int batches_ahead = 0;
};

/// This rank's part of one global batch: `data` and `target` are the samples' tensors, stacked along a new first
/// dimension.
struct Batch : torch::data::Example<> {
  /// Samples of this rank. 0 where the global batch has fewer samples than there are ranks: the tensors then hold one
  /// sample all the same, so that the model can run, and DataParallel gives it no weight.
  std::int64_t samples = 0;
  std::int64_t global_samples = 0;  ///< samples of all ranks
  /// Of this rank's samples, as LoaderOptions has them: int64, one-dimensional. Undefined without.
  torch::Tensor lengths;
};

/// Where a Loader stands: `batch` batches of epoch `epoch` were delivered. The same on every rank, for any number of
/// ranks with the same global batch, so it is all that a checkpoint needs to go on.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
};

/// Delivers a rank's share of each global batch, and tells the DataParallel replicas of the same group how much each
/// rank's loss weighs. What a worker's fetching throws comes out of the loop where its batch would have come; leaving
/// the loop waits for what is being fetched. Not thread-safe.
class Loader {
 public:
  /// Samples of these indices, stacked.
  using Fetch = std::function<torch::data::Example<>(const std::vector<std::size_t>& indices)>;

  /// What make_loader calls; for data that is not a torch dataset. Collective: every rank gives the same. Throws Error
  /// (kInvalidArgument), or kMismatch naming the first option that differs between ranks.
  Loader(const Group& group, std::size_t dataset_size, Fetch fetch, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  using Iterator = BatchIterator<Loader, Batch>;

  /// One pass, for a range-for. When it goes, the loader moves on to the next epoch, finished or left by `break`.
  class [[nodiscard]] Epoch {
   public:
    ~Epoch() { loader_.end_epoch(); }
    Epoch(const Epoch&) = delete;
    Epoch& operator=(const Epoch&) = delete;
    Iterator begin() { return Iterator(loader_); }
    Iterator end() { return {}; }

   private:
    friend class Loader;
    explicit Epoch(Loader& loader) : loader_(loader) {}
    Loader& loader_;
  };

  /// The next epoch; after set_position, what is left of that one.
  Epoch epoch();

  /// Global batches in an epoch.
  std::int64_t batches() const;
  /// What decides which samples each of them has, by name: {"dataset", "45 samples"}, {"seed", "3"}. Loaders of which
  /// all of it is the same have the same batches, whatever the number of ranks.
  std::vector<std::pair<std::string, std::string>> order() const;
  /// Inside the loop the batch at hand counts as delivered; what workers have fetched beyond it does not.
  LoaderPosition position() const { return position_; }
  /// Of this epoch so far, or of the last one: how long its loop waited for batches. Near zero where workers keep up.
  double data_wait_ms() const { return data_wait_ms_; }
  /// Outside of a loop. Throws Error (kInvalidArgument) for a place that no epoch has.
  void set_position(LoaderPosition position);

  /// What part of each global batch each rank gets; the parts sum to 1.
  std::vector<double> shares() const;
  /// Measured shares: from the next batch on each rank's is in proportion to its speed, which is how much it was given
  /// since the last call (samples, or the sum of their lengths) over `seconds`, the time in which it computed on that,
  /// without what it waited for others. Returns the new shares. Between epochs, or in the loop at the same batch on
  /// every rank. A rank that was given nothing keeps its share. The mean over samples stays what it was, as do the
  /// global batches; only rounding differs. Collective and blocking. Throws Error (kInvalidArgument) on every rank,
  /// naming one whose time is not positive and finite.
  std::vector<double> balance(double seconds);

 private:
  friend Iterator;
  struct Fetched;

  Batch& batch() { return batch_; }
  bool advance();
  void end_epoch();
  Fetched fetch(std::int64_t batch) const;
  Fetched next();

  Group group_;
  Fetch fetch_;
  std::unique_ptr<Sampler> sampler_;
  LoaderPosition position_;
  bool in_epoch_ = false;
  std::pair<std::int64_t, std::int64_t> share_before_;  ///< that another loader's batch had when this epoch began
  Batch batch_;
  std::int64_t work_ = 0;  ///< that this rank was given since `balance`
  double data_wait_ms_ = 0;
  int workers_ = 0;
  int ahead_ = 0;
  std::unique_ptr<Prefetch<Fetched>> prefetch_;  ///< of this epoch; goes before what its workers read
};

namespace detail {
/// Stacks examples of tensors along a new first dimension.
torch::data::Example<> stack(std::vector<torch::data::Example<>> examples);
/// What a transform like Stack<> has stacked already.
inline torch::data::Example<> stack(torch::data::Example<> batch) { return batch; }
[[noreturn]] void refuse_unsized();
}  // namespace detail

/// A Loader over any dataset of torch::data with random access (a Dataset with `get` and `size`, or what `.map(...)`
/// makes of one, with or without Stack<>) whose examples are a pair of tensors. Every rank gives the same dataset and
/// options. Collective. Throws Error (kInvalidArgument) for a dataset that is empty or does not say its size, and for
/// options that make no sense; kMismatch where those of ranks differ.
///
///   auto loader = lockstep::make_loader(dataset, world, {.global_batch = 64, .seed = 7});
///   for (auto& batch : loader->epoch()) { ... batch.data, batch.target ... }
template <class Dataset>
std::unique_ptr<Loader> make_loader(Dataset dataset, const Group& group, const LoaderOptions& options) {
  const auto size = dataset.size();  // an optional
  if (!size.has_value()) detail::refuse_unsized();
  auto shared = std::make_shared<Dataset>(std::move(dataset));
  return std::make_unique<Loader>(
      group, *size,
      [shared](const std::vector<std::size_t>& indices) { return detail::stack(shared->get_batch(indices)); }, options);
}

}  // namespace lockstep
