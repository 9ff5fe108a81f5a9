#include "runtime/layout.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

std::size_t total(const Layout& layout, int chunks, bool outputs) {
  std::size_t elements = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t piece = 0; piece < layout.pieces(); ++piece) {
      elements += (outputs ? layout.output(chunk, piece) : layout.input(chunk, piece)).count;
    }
  }
  return elements;
}

}  // namespace

TEST(Layout, ChunksCoverTheBufferInOrderAndCutItAtCacheLines) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U, 4099U}) {
    for (int chunks = 1; chunks <= 17; ++chunks) {
      const Layout layout({.chunks = chunks, .count = count, .block_counts = {}});
      std::size_t end_bytes = 0;
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const Layout::Span span = layout.input(chunk, 0);
        ASSERT_EQ(span.offset_bytes, end_bytes);
        end_bytes += span.count * sizeof(float);
        if (span.count > 0) {
          ASSERT_EQ(span.offset_bytes % 64, 0U);
        }
      }
      EXPECT_EQ(end_bytes, count * sizeof(float));
    }
  }
}

TEST(Layout, BlocksOfRanksAreExact) {
  const Layout layout(
      {.collective = Collective::kReduceScatter, .ranks = 7, .chunks = 7, .count = 21, .block_counts = {}});
  for (int chunk = 0; chunk < 7; ++chunk) {
    EXPECT_EQ(layout.input(chunk, 0), (Layout::Span{static_cast<std::size_t>(12 * chunk), 3}));
  }
}

TEST(Layout, BlocksMayDiffer) {
  const Layout layout(
      {.collective = Collective::kAllGather, .ranks = 3, .chunks = 6, .count = 9, .block_counts = {4, 0, 5}});
  EXPECT_EQ(layout.input(0, 0), (Layout::Span{0, 2}));
  EXPECT_EQ(layout.input(1, 0), (Layout::Span{8, 2}));
  EXPECT_EQ(layout.input(2, 0).count, 0U);
  EXPECT_EQ(layout.input(4, 0), (Layout::Span{16, 2}));
  EXPECT_EQ(layout.input(5, 0), (Layout::Span{24, 3}));
}

TEST(Layout, AllToAllReadsByDestinationAndWritesBySource) {
  const Layout layout({.collective = Collective::kAllToAll, .ranks = 2, .chunks = 4, .count = 6, .block_counts = {}});
  EXPECT_EQ(layout.input(1, 0), (Layout::Span{12, 3}));  // from 0 to 1: block 1 of what 0 sends
  EXPECT_EQ(layout.output(1, 0), (Layout::Span{0, 3}));  // and block 0 of what 1 receives
  EXPECT_EQ(layout.input(2, 0), (Layout::Span{0, 3}));
  EXPECT_EQ(layout.output(2, 0), (Layout::Span{12, 3}));
}

TEST(Layout, PiecesTogetherAreTheWhole) {
  for (const std::size_t count : {0U, 1U, 16U, 17U, 100U, 4099U}) {
    for (const int chunks : {1, 3, 4}) {
      for (const std::size_t slice_bytes : {0U, 64U, 100U, 1024U, 1U << 20}) {
        Layout layout({.chunks = chunks, .count = count, .block_counts = {}});
        layout.slice(slice_bytes);
        EXPECT_EQ(total(layout, chunks, false), count);
        EXPECT_EQ(total(layout, chunks, true), count);
        EXPECT_EQ(layout.slice_bytes() % 64, 0U);
        EXPECT_LE(layout.slice_bytes(), std::max<std::size_t>(64, slice_bytes));
      }
    }
  }
}

/// Row by row the chunks follow each other, in order and without a gap, cut at cache lines.
TEST(Layout, DealtOutAChunkHasABlockOfEveryRow) {
  for (const std::size_t count : {0U, 1U, 160U, 1000U, 4099U}) {
    for (const int chunks : {1, 3, 4}) {
      for (const std::size_t block_bytes : {64U, 100U, 1024U, 1U << 20}) {
        Layout layout({.chunks = chunks, .count = count, .block_counts = {}});
        layout.deal(block_bytes);
        const std::size_t bytes = count * sizeof(float);
        EXPECT_EQ(layout.rows(), std::max<std::size_t>(1, bytes / (static_cast<std::size_t>(chunks) * block_bytes)));
        EXPECT_EQ(layout.pieces(), 1U);
        std::size_t end_bytes = 0;
        for (std::size_t row = 0; row < layout.rows(); ++row) {
          for (int chunk = 0; chunk < chunks; ++chunk) {
            const Layout::Span span = layout.input(chunk, row);
            ASSERT_EQ(span.offset_bytes, end_bytes);
            ASSERT_EQ(layout.output(chunk, row), span);
            end_bytes += span.count * sizeof(float);
            if (span.count > 0) {
              ASSERT_EQ(span.offset_bytes % 64, 0U);
            }
          }
        }
        EXPECT_EQ(end_bytes, bytes);
      }
    }
  }
}

TEST(Layout, BlocksOfRanksAreNotDealtOut) {
  for (const Collective collective : {Collective::kReduceScatter, Collective::kAllGather, Collective::kAllToAll}) {
    const int chunks = collective == Collective::kAllToAll ? 4 : 2;
    Layout layout({.collective = collective, .ranks = 2, .chunks = chunks, .count = 4096, .block_counts = {}});
    const Layout::Span last = layout.input(chunks - 1, 0);
    layout.deal(64);
    EXPECT_EQ(layout.rows(), 1U);
    EXPECT_EQ(layout.input(chunks - 1, 0), last);
  }
}

TEST(Layout, PiecesAreOfOneSize) {
  Layout layout({.chunks = 1, .count = 5 * 1024, .block_counts = {}});
  layout.slice(16 << 10);
  ASSERT_EQ(layout.pieces(), 2U);
  EXPECT_EQ(layout.input(0, 0).count, 2560U);
  EXPECT_EQ(layout.input(0, 1).count, 2560U);
}

}  // namespace lockstep
