#pragma once

#include <lockstep/batch_iterator.h>
#include <lockstep/group.h>

#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

namespace lockstep {

/// What happens when some ranks have no more batches while others do.
enum class Uneven : std::uint8_t {
  kShadow,  ///< they go through the loop with their last batch, which then counts for nothing
  kError    ///< Error (kMismatch) on all ranks, naming a rank that has run out
};

namespace detail {

/// Agrees before each batch on who still has one.
class BatchAgreement {
 public:
  /// What a rank says that has no batch any more.
  static constexpr std::int64_t kNone = -1;

  BatchAgreement(const Group& group, Uneven uneven);
  ~BatchAgreement();
  BatchAgreement(const BatchAgreement&) = delete;
  BatchAgreement& operator=(const BatchAgreement&) = delete;

  /// This rank's next batch has so many samples. Weights the next backward; returns whether any rank has a batch.
  bool next(std::int64_t samples);

 private:
  Group group_;
  Uneven uneven_;
  bool first_ = true;
  std::pair<std::int64_t, std::int64_t> share_before_;  ///< of what encloses this loop
};

/// Samples of a batch: the first dimension of its `data`.
struct FirstDimension {
  template <class Batch>
  std::int64_t operator()(const Batch& batch) const {
    return batch.data.size(0);
  }
};

}  // namespace detail

/// What join_batches returns: a range for one loop.
template <class Range, class SamplesOf>
class JoinedBatches {
  using Source = decltype(std::begin(std::declval<Range&>()));
  using Batch = std::decay_t<decltype(*std::declval<Source&>())>;

 public:
  using Iterator = BatchIterator<JoinedBatches, Batch>;

  JoinedBatches(const Group& group, Range& range, Uneven uneven, SamplesOf samples_of)
      : agreement_(group, uneven), range_(range), samples_of_(std::move(samples_of)) {}

  Iterator begin() { return Iterator(*this); }
  Iterator end() { return {}; }

 private:
  friend Iterator;
  Batch& batch() { return *batch_; }
  bool advance() {
    if (!source_) {
      source_.emplace(std::begin(range_));
    } else if (has_own_) {
      ++*source_;
    }
    has_own_ = has_own_ && *source_ != std::end(range_);
    if (has_own_) batch_.emplace(**source_);
    return agreement_.next(has_own_ ? static_cast<std::int64_t>(samples_of_(*batch_)) : detail::BatchAgreement::kNone);
  }

  detail::BatchAgreement agreement_;
  Range& range_;
  SamplesOf samples_of_;
  std::optional<Source> source_;
  std::optional<Batch> batch_;
  bool has_own_ = true;
};

/// Batches of this rank's own, from any range (a torch data loader, a vector), of which ranks may have different
/// numbers: the loop goes on on every rank until the last one has run out. A rank that ran out shadows the others: it
/// computes its last batch again, with no weight, so that whatever collectives the loop's body contains, or leaves out
/// under pause(), fit together. Meanwhile the mean is over the samples of those that have some. Batches of a loader of
/// make_loader are even by themselves.
///
///   for (auto& batch : lockstep::join_batches(world, *torch_data_loader)) { ...backward(); optimizer.step(); }
///
/// `samples_of` tells the samples of a batch (default: batch.data.size(0)); each rank's loss is a mean over them, and
/// weighs by them. Collective, 8 bytes a rank before each batch. Throws Error (kInvalidArgument) on all ranks if a rank
/// has no batch at all, and if no rank's batch has samples.
template <class Range, class SamplesOf = detail::FirstDimension>
JoinedBatches<Range, SamplesOf> join_batches(const Group& group, Range& range, Uneven uneven = Uneven::kShadow,
                                             SamplesOf samples_of = {}) {
  return JoinedBatches<Range, SamplesOf>(group, range, uneven, std::move(samples_of));
}

}  // namespace lockstep
