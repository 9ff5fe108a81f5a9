#pragma once

#include <lockstep/types.h>

#include <algorithm>
#include <cstddef>

namespace lockstep {

/// Where the chunks of a buffer lie. For collectives whose blocks belong to ranks the cuts are exact (`count` is a
/// multiple of the ranks); elsewhere they fall on cache lines, so that two ranks never write to the same one. Chunks
/// may be empty.
class Partition {
 public:
  Partition(Collective collective, DataType dtype, std::size_t count, int chunks)
      : count_(count), chunks_(static_cast<std::size_t>(chunks)) {
    const bool blocks = collective == Collective::kReduceScatter || collective == Collective::kAllGather;
    unit_ = blocks ? 1 : kCacheLine / size_of(dtype);
  }

  /// First element of chunk i; begin(chunks) is the end of the buffer.
  std::size_t begin(int chunk) const {
    // count * chunk fits: both are bounded by what a machine holds (2^48 bytes, 2^15 chunks).
    const std::size_t exact = count_ * static_cast<std::size_t>(chunk) / chunks_;
    return std::min(count_, (exact + unit_ - 1) / unit_ * unit_);
  }
  std::size_t size(int chunk) const { return begin(chunk + 1) - begin(chunk); }

 private:
  static constexpr std::size_t kCacheLine = 64;
  std::size_t count_;
  std::size_t chunks_;
  std::size_t unit_;
};

}  // namespace lockstep
