#include "train/permutation.h"

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

}  // namespace lockstep
