#include "train/checkpoint/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/world.h>

namespace lockstep {
namespace {

TEST(Agreement, WhatFailsOnSomeIsSaidOnAll) {
  run_threads(4, [](World& world) {
    agree(world, [] {});
    try {
      agree(world, [&] {
        if (world.rank() >= 2) throw Error(ErrorCode::kUnsupported, "no " + std::to_string(world.rank()));
      });
      ADD_FAILURE() << "rank " << world.rank() << " went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_STREQ(error.what(), "Rank 2: no 2");
      EXPECT_EQ(error.peer(), 2);
    }
    EXPECT_EQ(broadcast_text(world, std::to_string(world.rank()), 3), "3");  // and the group goes on
    EXPECT_EQ(broadcast_text(world, "", 0), "");
  });
}

TEST(Agreement, AloneNobodyIsNamed) {
  try {
    agree(World::alone(), [] { throw std::runtime_error("why"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "why");
  }
}

}  // namespace
}  // namespace lockstep
