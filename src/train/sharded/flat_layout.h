#pragma once

#include <cstddef>

#include "train/layout.h"

namespace lockstep {

/// Bytes [begin, end) of something.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// Several parameters (or their gradients) laid end to end in one flat buffer, which is cut into equal pieces, one a
/// rank, wherever that falls: a piece may begin and end in the middle of a parameter.
struct FlatLayout {
  BucketLayout bucket;  ///< its bytes are a multiple of pieces * kSlotAlignment
  std::size_t pieces = 1;

  std::size_t piece_bytes() const { return bucket.bytes / pieces; }
  /// The piece of rank `rank`, as bytes of the buffer.
  ByteRange piece(std::size_t rank) const { return {rank * piece_bytes(), (rank + 1) * piece_bytes()}; }
  /// What of the `bytes` bytes from `offset` on lies in that piece, as bytes of the buffer; empty at their end if none.
  ByteRange part_of(std::size_t offset, std::size_t bytes, std::size_t rank) const;
};

FlatLayout cut(BucketLayout bucket, std::size_t pieces);

}  // namespace lockstep
