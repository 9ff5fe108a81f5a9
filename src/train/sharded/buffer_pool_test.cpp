#include "train/sharded/buffer_pool.h"

#include <gtest/gtest.h>
#include <lockstep/world.h>

namespace lockstep {
namespace {

TEST(BufferPool, HoldsAsMuchAsWasInUseAtOnce) {
  BufferPool pool(World::alone());
  for (int round = 0; round < 3; ++round) {
    RegisteredMemory a = pool.take(1000);
    RegisteredMemory b = pool.take(1000);
    EXPECT_NE(a.data(), b.data());
    pool.give_back(std::move(a));
    pool.give_back(std::move(b));
  }
  EXPECT_EQ(pool.bytes(), 2000u);
}

TEST(BufferPool, TakesTheSmallestThatFits) {
  BufferPool pool(World::alone());
  RegisteredMemory large = pool.take(4000);
  RegisteredMemory small = pool.take(1000);
  const void* at = small.data();
  pool.give_back(std::move(large));
  pool.give_back(std::move(small));
  EXPECT_EQ(pool.take(900).data(), at);
}

TEST(BufferPool, ALargerBufferTakesTheSmallOnesPlace) {
  BufferPool pool(World::alone());
  pool.give_back(pool.take(1000));
  pool.give_back(pool.take(4000));
  EXPECT_EQ(pool.bytes(), 4000u);
  pool.give_back(pool.take(1000));
  EXPECT_EQ(pool.bytes(), 4000u);
}

}  // namespace
}  // namespace lockstep
