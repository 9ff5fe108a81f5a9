#include "train/sampler.h"

#include <algorithm>
#include <utility>

#include "train/length_order.h"
#include "train/permutation.h"

namespace lockstep {

Sampler::Sampler(Options options)
    : options_(std::move(options)), shares_(options_.shares ? *options_.shares : Shares(options_.ranks)) {}

std::size_t Sampler::batches() const {
  const std::size_t whole = options_.size / options_.global_batch;
  const bool ragged = options_.size % options_.global_batch != 0;
  return whole + (ragged && !options_.drop_last ? 1 : 0);
}

void Sampler::begin_epoch(std::uint64_t epoch) {
  if (!options_.shuffle) return;
  order_ = permutation(options_.size, options_.seed, epoch);
  if (!options_.lengths.empty()) {
    group_by_length(order_, options_.lengths, options_.global_batch, {options_.seed, epoch});
  }
}

Sampler::Share Sampler::share(std::size_t batch) const {
  const std::size_t begin = batch * options_.global_batch;
  const std::size_t m = std::min(options_.global_batch, options_.size - begin);
  if (!options_.lengths.empty()) return share_by_length(begin, m);
  Share share{.global = m, .stand_in = at(begin)};
  const auto end = shares_.begin(options_.rank + 1, m);
  for (auto i = shares_.begin(options_.rank, m); i < end; ++i) share.indices.push_back(at(begin + i));
  share.work = static_cast<std::int64_t>(share.indices.size());
  return share;
}

Sampler::Share Sampler::share_by_length(std::size_t begin, std::size_t m) const {
  std::vector<std::size_t> batch;
  for (std::size_t i = 0; i < m; ++i) batch.push_back(at(begin + i));
  const auto& lengths = options_.lengths;
  std::stable_sort(batch.begin(), batch.end(),
                   [&lengths](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::int64_t> sorted;
  for (const std::size_t index : batch) sorted.push_back(lengths[index]);
  const auto cuts = cut_by_length(sorted, shares_);
  const auto rank = static_cast<std::size_t>(options_.rank);
  Share share{.global = m, .stand_in = batch.back()};
  for (std::size_t i = cuts[rank]; i < cuts[rank + 1]; ++i) {
    share.indices.push_back(batch[i]);
    share.work += sorted[i];
  }
  return share;
}

}  // namespace lockstep
