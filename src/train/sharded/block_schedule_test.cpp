#include "train/sharded/block_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

constexpr std::size_t kBytes = 1024;

/// Blocks of one parameter of 256 floats, freed.
struct Blocks {
  Blocks(const Group& group, std::size_t count, BlockScheduleOptions options)
      : pool(std::make_shared<BufferPool>(group)), schedule(options) {
    for (std::size_t b = 0; b < count; ++b) {
      const std::vector<ModuleTensor> parameters{{"weight", torch::ones(256, torch::requires_grad()), true, ""}};
      const auto layout = cut({DataType::kFloat32, kBytes, {{0, 0}}}, static_cast<std::size_t>(group.size()));
      flats.push_back(std::make_unique<ShardedFlat>(group, pool, layout, parameters, Keep::kPiece));
      flats.back()->store();
      flats.back()->release();
      schedule.add({flats.back().get()}, {});
    }
  }
  void iteration() {
    for (std::size_t b = 0; b < flats.size(); ++b) {
      schedule.before_forward(b, true);
      EXPECT_TRUE(schedule.is_whole(b));
      schedule.after_forward(b, true);
    }
    schedule.begin_backward();
    for (std::size_t b = flats.size(); b-- > 0;) {
      schedule.before_backward(b);
      EXPECT_TRUE(schedule.is_whole(b));
      schedule.gradient_came(b);
    }
    schedule.end_backward();
  }
  std::size_t whole() const {
    std::size_t count = 0;
    for (std::size_t b = 0; b < flats.size(); ++b) count += schedule.is_whole(b) ? 1 : 0;
    return count;
  }

  std::shared_ptr<BufferPool> pool;
  std::vector<std::unique_ptr<ShardedFlat>> flats;
  BlockSchedule schedule;
};

TEST(BlockSchedule, HoldsOneBlockAtATime) {
  test::on_ranks(2, [](World& world) {
    Blocks blocks(world, 6, {.prefetch = false});
    for (int i = 0; i < 3; ++i) blocks.iteration();
    EXPECT_EQ(blocks.pool->bytes(), kBytes);
    EXPECT_EQ(blocks.whole(), 0u);
  });
}

TEST(BlockSchedule, HoldsTheNextOneTooWhenItPrefetches) {
  test::on_ranks(2, [](World& world) {
    Blocks blocks(world, 6, {.prefetch = true});
    for (int i = 0; i < 3; ++i) blocks.iteration();
    EXPECT_EQ(blocks.pool->bytes(), 2 * kBytes);
    EXPECT_EQ(blocks.whole(), 0u);
  });
}

TEST(BlockSchedule, LeavesThemWholeUntilBackwardWhenAskedTo) {
  test::on_ranks(2, [](World& world) {
    Blocks blocks(world, 3, {.reshard_after_forward = false});
    for (std::size_t b = 0; b < 3; ++b) {
      blocks.schedule.before_forward(b, true);
      blocks.schedule.after_forward(b, true);
    }
    EXPECT_EQ(blocks.whole(), 3u);
    blocks.schedule.begin_backward();
    blocks.schedule.before_backward(2);
    blocks.schedule.gradient_came(2);
    EXPECT_EQ(blocks.whole(), 2u);
    blocks.schedule.end_backward();
    EXPECT_EQ(blocks.whole(), 0u);
  });
}

TEST(BlockSchedule, AForwardInsideABackwardStaysWholeAndSaysNothingOfTheOrder) {
  test::on_ranks(2, [](World& world) {
    Blocks blocks(world, 6, {});
    for (int i = 0; i < 3; ++i) {
      for (std::size_t b = 0; b < 6; ++b) {
        blocks.schedule.before_forward(b, false);
        blocks.schedule.after_forward(b, false);
      }
      blocks.schedule.begin_backward();
      for (std::size_t b = 6; b-- > 0;) {
        blocks.schedule.before_recompute(b);
        EXPECT_TRUE(blocks.schedule.is_whole(b));
        blocks.schedule.before_backward(b);
        EXPECT_EQ(blocks.whole(), 1u);
        blocks.schedule.gradient_came(b);
      }
      blocks.schedule.end_backward();
    }
    EXPECT_EQ(blocks.pool->bytes(), 2 * kBytes);
    EXPECT_EQ(blocks.whole(), 0u);
  });
}

TEST(BlockSchedule, WhatWasPrefetchedInVainIsFreed) {
  test::on_ranks(2, [](World& world) {
    Blocks blocks(world, 3, {});
    blocks.iteration();
    blocks.schedule.before_forward(0, true);  // gathers 1, which does not run this time
    blocks.schedule.after_forward(0, true);
    blocks.schedule.before_forward(2, true);
    blocks.schedule.after_forward(2, true);
    blocks.schedule.begin_backward();
    blocks.schedule.before_backward(2);
    blocks.schedule.gradient_came(2);
    blocks.schedule.end_backward();
    EXPECT_EQ(blocks.whole(), 0u);
    blocks.iteration();
  });
}

TEST(BlockSchedule, HeldWholeNothingIsFreedAndWritesAreKept) {
  test::on_ranks(2, [](World& world) {
    Blocks blocks(world, 2, {});
    blocks.schedule.hold_whole(true);
    EXPECT_EQ(blocks.whole(), 2u);
    blocks.schedule.before_forward(0, false);
    blocks.schedule.after_forward(0, false);
    EXPECT_EQ(blocks.whole(), 2u);
    {
      torch::NoGradGuard no_grad;
      blocks.flats[0]->parameter(0).tensor.fill_(7);
    }
    blocks.schedule.hold_whole(false);
    EXPECT_EQ(blocks.whole(), 0u);
    blocks.schedule.before_forward(0, false);
    EXPECT_TRUE(torch::equal(blocks.flats[0]->parameter(0).tensor, torch::full(256, 7.0)));
  });
}

}  // namespace
}  // namespace lockstep
