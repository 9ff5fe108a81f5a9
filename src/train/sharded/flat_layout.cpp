#include "train/sharded/flat_layout.h"

#include <algorithm>

namespace lockstep {

ByteRange FlatLayout::part_of(std::size_t offset, std::size_t bytes, std::size_t rank) const {
  const ByteRange own = piece(rank);
  const std::size_t end = offset + bytes;
  const std::size_t from = std::clamp(own.begin, offset, end);
  return {from, std::max(from, std::min(own.end, end))};
}

FlatLayout cut(BucketLayout bucket, std::size_t pieces) {
  const std::size_t grain = pieces * kSlotAlignment;
  bucket.bytes = (bucket.bytes + grain - 1) / grain * grain;
  return {std::move(bucket), pieces};
}

}  // namespace lockstep
