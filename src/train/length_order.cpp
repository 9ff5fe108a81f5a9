#include "train/length_order.h"

#include <algorithm>

#include "train/permutation.h"

namespace lockstep {
namespace {

constexpr std::size_t kPoolBatches = 50;
constexpr std::size_t kFewestPools = 4;

}  // namespace

void group_by_length(std::vector<std::size_t>& order, const std::vector<std::int64_t>& lengths,
                     std::size_t global_batch, EpochSeed when) {
  const std::size_t batches = order.size() / global_batch;
  const std::size_t whole = batches * global_batch;
  const auto at = [&order](std::size_t position) { return order.begin() + static_cast<std::ptrdiff_t>(position); };
  const std::size_t pool = std::clamp<std::size_t>(batches / kFewestPools, 1, kPoolBatches) * global_batch;
  for (std::size_t begin = 0; begin < whole; begin += pool) {
    std::stable_sort(at(begin), at(std::min(begin + pool, whole)),
                     [&lengths](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  }
  // Another stream of the generator than the one that shuffled the samples.
  const auto sequence = permutation(batches, ~when.seed, when.epoch);
  std::vector<std::size_t> grouped;
  grouped.reserve(order.size());
  for (const std::size_t batch : sequence) {
    grouped.insert(grouped.end(), at(batch * global_batch), at((batch + 1) * global_batch));
  }
  grouped.insert(grouped.end(), at(whole), order.end());
  order = std::move(grouped);
}

}  // namespace lockstep
