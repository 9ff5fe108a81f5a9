#include "train/sharded/flat_layout.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

/// 100, 40 and 200 bytes at 0, 128 and 192.
BucketLayout three_slots() {
  return {.dtype = DataType::kFloat32, .bytes = 448, .slots = {{0, 0}, {1, 128}, {2, 192}}};
}

TEST(FlatLayout, PiecesAreEqualAndCoverTheBuffer) {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u, 7u, 50u}) {
    const FlatLayout layout = cut(three_slots(), ranks);
    EXPECT_GE(layout.bucket.bytes, 448u);
    EXPECT_LT(layout.bucket.bytes, 448 + ranks * kSlotAlignment);
    EXPECT_EQ(layout.piece_bytes() % kSlotAlignment, 0u);
    EXPECT_EQ(layout.piece(ranks - 1).end, layout.bucket.bytes);
  }
}

TEST(FlatLayout, PartsOfAParameterAreAllOfItOnce) {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u, 7u}) {
    const FlatLayout layout = cut(three_slots(), ranks);
    std::size_t at = 192;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const ByteRange part = layout.part_of(192, 200, rank);
      if (part.size() == 0) continue;
      EXPECT_EQ(part.begin, at);
      at = part.end;
    }
    EXPECT_EQ(at, 192u + 200u);
  }
}

TEST(FlatLayout, ARankMayOwnNothingOfAParameter) {
  const FlatLayout layout = cut(three_slots(), 2);  // pieces of 256
  EXPECT_EQ(layout.part_of(0, 100, 0), (ByteRange{0, 100}));
  EXPECT_EQ(layout.part_of(0, 100, 1).size(), 0u);
  EXPECT_EQ(layout.part_of(192, 200, 0), (ByteRange{192, 256}));
  EXPECT_EQ(layout.part_of(192, 200, 1), (ByteRange{256, 392}));
}

}  // namespace
}  // namespace lockstep
