#include "train/sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, bound).
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t biased = -bound % bound;  // 2^64 mod bound
    for (;;) {
      const Wide product = static_cast<Wide>(next()) * bound;
      if (static_cast<std::uint64_t>(product) >= biased) return static_cast<std::uint64_t>(product >> 64);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace

std::vector<std::size_t> permutation(std::size_t size, std::uint64_t seed, std::uint64_t epoch) {
  // One step of the generator between the two, so that (seed, epoch + 1) and (seed + 1, epoch) have nothing in common.
  SplitMix64 random(SplitMix64(seed).next() + epoch);
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::size_t Sampler::batches() const {
  const std::size_t whole = options_.size / options_.global_batch;
  const bool ragged = options_.size % options_.global_batch != 0;
  return whole + (ragged && !options_.drop_last ? 1 : 0);
}

void Sampler::begin_epoch(std::uint64_t epoch) {
  if (options_.shuffle) order_ = permutation(options_.size, options_.seed, epoch);
}

Sampler::Share Sampler::share(std::size_t batch) const {
  const std::size_t begin = batch * options_.global_batch;
  const std::size_t m = std::min(options_.global_batch, options_.size - begin);
  const auto r = static_cast<std::size_t>(options_.rank);
  const auto p = static_cast<std::size_t>(options_.ranks);
  Share share{.global = m, .stand_in = at(begin)};
  for (std::size_t i = m * r / p; i < m * (r + 1) / p; ++i) share.indices.push_back(at(begin + i));
  return share;
}

}  // namespace lockstep
