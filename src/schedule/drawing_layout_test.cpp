#include "schedule/drawing_layout.h"

#include "schedule/drawing_words.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {

TEST(DrawingLayout, LanesAndBoxesStandSideBySide) {
  for (const int ranks : {1, 2, 3, 4, 8, 16, 17, 64}) {
    const DrawingLayout layout({.ranks = ranks, .chunks = ranks});
    for (int rank = 0; rank < ranks; ++rank) {
      const double end = layout.lane_left(rank) + layout.lane_width();
      EXPECT_LT(end, rank + 1 < ranks ? layout.lane_left(rank + 1) : layout.width());
      EXPECT_GT(layout.box_left(rank, 0), layout.lane_left(rank));
      EXPECT_LT(layout.box_left(rank, layout.chunks() - 1) + layout.box_width(), end);
    }
    EXPECT_LT(layout.width(), 3500) << ranks;
  }
}

TEST(DrawingLayout, ThePageIsAsWideAsTheSchedulesName) {
  const std::string name(66, 'x');  // as the longest of a catalogue's
  const DrawingLayout layout({.name = name, .ranks = 2, .chunks = 1});
  EXPECT_GT(layout.width(), 24 + DrawingLayout::text_width(name.size(), DrawingLayout::kHeadingSize));
}

TEST(DrawingLayout, UpToEightRanksAllChunksAreDrawn) {
  for (int ranks = 1; ranks <= 8; ++ranks) EXPECT_EQ(DrawingLayout({.ranks = ranks, .chunks = ranks}).chunks(), ranks);
  EXPECT_EQ(DrawingLayout({.ranks = 16, .chunks = 16}).chunks(), 3);
  EXPECT_EQ(DrawingLayout({.ranks = 64, .chunks = 64}).chunks(), 1);
  EXPECT_FALSE(DrawingLayout({.ranks = 16, .chunks = 16}).shows({TransferKind::kCopy, 3, 0, 1}));
}

TEST(DrawingLayout, TheWorkedExampleOnFourRanksHasItsSumsInFull) {
  const DrawingLayout layout({.ranks = 4, .chunks = 4});
  EXPECT_LT(DrawingLayout::text_width(sum_of({0, 1, 2, 3}, 3, 4).size(), layout.label_size()), layout.box_width());
}

}  // namespace lockstep
