#include "train/sharded/buffer_pool.h"

#include <gtest/gtest.h>
#include <lockstep/world.h>

#include <set>

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

/// Takes so many buffers of these bytes at once. Returns where they lay.
std::set<const void*> use(BufferPool& pool, int count, std::size_t bytes) {
  std::vector<RegisteredMemory> taken;
  std::set<const void*> places;
  for (int i = 0; i < count; ++i) places.insert(taken.emplace_back(pool.take(bytes)).data());
  for (auto& memory : taken) pool.give_back(std::move(memory));
  return places;
}

TEST(BufferPool, TrimmedAfterABurstItHasWhatItHadAndMapsNothingAnew) {
  BufferPool pool(World::alone());
  use(pool, 2, 4000);
  const std::size_t before = pool.bytes();
  use(pool, 7, 4000);
  EXPECT_EQ(pool.bytes(), 7 * before / 2);
  pool.trim(before);
  EXPECT_EQ(pool.bytes(), before);
  const auto places = use(pool, 2, 4000);
  EXPECT_EQ(use(pool, 2, 4000), places);
  EXPECT_EQ(pool.bytes(), before);
}

TEST(BufferPool, TrimReturnsTheMemoryOfTheSmallestAndNothingThatIsInUse) {
  BufferPool pool(World::alone());
  std::vector<RegisteredMemory> taken;
  for (const std::size_t bytes : {4000, 1000, 2000}) taken.push_back(pool.take(bytes));
  std::vector<std::weak_ptr<void>> owners;
  for (auto& memory : taken) {
    owners.push_back(memory.owner());
    pool.give_back(std::move(memory));
  }
  const RegisteredMemory in_use = pool.take(4000);
  pool.trim(5500);  // 7000 less 1000 is enough, less 2000 more is not
  EXPECT_TRUE(owners[1].expired());
  EXPECT_FALSE(owners[2].expired());
  EXPECT_EQ(pool.bytes(), 6000u);
  pool.trim(0);
  EXPECT_TRUE(owners[2].expired());
  EXPECT_FALSE(owners[0].expired());
  EXPECT_EQ(pool.bytes(), in_use.bytes());
}

}  // namespace
}  // namespace lockstep
