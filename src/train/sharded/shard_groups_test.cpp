#include "train/sharded/shard_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <lockstep/world.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ShardGroups, ARanksPlaceIsItsNumberOnItsHost) {
  EXPECT_THAT(places_on_hosts({0, 0, 1, 1}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(places_on_hosts({0, 1, 0, 1, 2, 2}), ElementsAre(0, 0, 1, 1, 0, 1));
}

TEST(ShardGroups, HostsThatDifferAreRefused) {
  EXPECT_THAT(
      [] {
        places_on_hosts({0, 0, 0, 1});
      },
      ThrowsMessage<Error>(HasSubstr("host 0 has 3 and host 1 has 1. Start as many on each host")));
}

TEST(ShardGroups, OneHostHasOneCopy) {
  run_threads(3, [](World& world) {
    for (const Sharding sharding : {Sharding::kWorld, Sharding::kHost}) {
      const ShardGroups groups = shard_groups(world, sharding);
      EXPECT_EQ(groups.shards.size(), 3);
      EXPECT_EQ(groups.shards.rank(), world.rank());
      EXPECT_FALSE(groups.copies);
      EXPECT_EQ(groups.copy(), 0);
    }
  });
}

}  // namespace
}  // namespace lockstep
