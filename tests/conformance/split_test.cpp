// Groups within a group, on every kind of world: who is in them, that they run side by side, and what errors say.
#include "base/limit_for_tests.h"
#include "tests/conformance/on_every_setting.h"
#include "transport/tcp/hmac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <array>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::conformance {

namespace {

class Split : public OnEverySetting {
 protected:
  void SetUp() override {
    OnEverySetting::SetUp();
    if (GetParam().medium == Medium::kTcp && !tcp::hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  }
};
LOCKSTEP_ON_EVERY_SETTING(Split);

/// Where two colours have two ranks each.
class SplitOfMany : public Split {};
std::vector<Setting> settings_of_many() {
  std::vector<Setting> settings = every_setting();
  std::erase_if(settings, [](const Setting& setting) { return setting.ranks < 4; });
  return settings;
}
INSTANTIATE_TEST_SUITE_P(On, SplitOfMany, testing::ValuesIn(settings_of_many()), testing::PrintToStringParamName());

std::int64_t sum_of(const std::vector<int>& values) { return std::accumulate(values.begin(), values.end(), 0L); }

/// Small buffers and large ones by turns.
void sum_many_times(const Group& group) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> values(round % 2 == 0 ? 10U : 1000U,
                                     group.world_ranks()[static_cast<std::size_t>(group.rank())] + round);
    group.all_reduce(buffer_of(values)).wait();
    const std::int64_t sum = sum_of(group.world_ranks()) + std::int64_t{group.size()} * round;
    ASSERT_EQ(values, std::vector(values.size(), sum)) << "group of " << group.size() << ", round " << round;
  }
}

}  // namespace

/// Even and odd ranks, counted from the last.
TEST_P(Split, RanksOfAColourAreOrderedByTheirKeys) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const Group half = world.split(world.rank() % 2, -world.rank());
    std::vector<int> expected;
    for (int rank = world.size() - 1; rank >= 0; --rank) {
      if (rank % 2 == world.rank() % 2) expected.push_back(rank);
    }
    ASSERT_EQ(half.world_ranks(), expected);
    ASSERT_EQ(half.size(), static_cast<int>(expected.size()));
    EXPECT_EQ(expected[static_cast<std::size_t>(half.rank())], world.rank());
    EXPECT_EQ(world.world_ranks().size(), static_cast<std::size_t>(world.size()));
  });
}

/// Operations of the world, of a part and of a part of that are under way at the same time.
TEST_P(Split, GroupsRunSideBySide) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const Group half = world.split(world.rank() % 2);
    const Group quarter = half.split(half.rank() / 2);
    const std::array<const Group*, 3> groups{&world, &half, &quarter};
    for (int round = 0; round < 20; ++round) {
      std::array<std::vector<std::int64_t>, 3> values;
      std::vector<Pending> pending;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        values[i].assign(static_cast<std::size_t>(1 + round * 500), world.rank() + round);
        pending.push_back(groups[i]->all_reduce(buffer_of(values[i])));
      }
      for (std::size_t i = groups.size(); i-- > 0;) pending[i].wait();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::int64_t sum = sum_of(groups[i]->world_ranks()) + std::int64_t{groups[i]->size()} * round;
        ASSERT_THAT(values[i], testing::Each(sum)) << "group " << i << " round " << round;
      }
    }
  });
}

/// A group and a part of it, each from a thread of its own.
TEST_P(Split, GroupsRunFromThreadsOfTheirOwn) {
  run_world(GetParam(), [](Member& member) {
    const Group half = member.world.split(member.world.rank() % 2);
    const std::jthread other([&half] {
      try {
        sum_many_times(half);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "the part: " << error.what();
      }
    });
    sum_many_times(member.world);
  });
}

TEST_P(Split, ARankWithAColourOfItsOwnIsAlone) {
  run_world(GetParam(), [](Member& member) {
    const Group alone = member.world.split(member.world.rank());
    EXPECT_EQ(alone.size(), 1);
    EXPECT_THAT(alone.world_ranks(), testing::ElementsAre(member.world.rank()));
    std::vector<float> values{1, 2};
    alone.all_reduce(buffer_of(values)).wait();
    EXPECT_THAT(values, testing::ElementsAre(1, 2));
  });
}

TEST_P(SplitOfMany, AnErrorSaysWhichGroupItIs) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const Group half = world.split(world.rank() % 2);
    if (world.rank() % 2 == 1) {
      std::vector<float> values(world.rank() == 1 ? 3 : 4);
      try {
        half.all_reduce(buffer_of(values)).wait();
        ADD_FAILURE() << "they agreed";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kMismatch);
        EXPECT_THAT(error.what(), testing::HasSubstr("of the group of the world's ranks 1, 3"));
      }
    }
    std::vector<float> values(7, 1);
    world.all_reduce(buffer_of(values)).wait();  // which no other group's error disturbs
    EXPECT_THAT(values, testing::Each(static_cast<float>(world.size())));
  });
}

/// The rank that the others would come to has no descriptor left to listen with.
TEST(SplitOfProcesses, AMeetingThatCannotBeOpenedIsAnErrorOnAllRanks) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const Setting setting{Medium::kTcp, Home::kProcesses, 2};
  if (const std::string why = why_not(setting); !why.empty()) GTEST_SKIP() << why;
  run_world(setting, [](Member& member) {
    std::optional<testing_support::Limit> descriptors;
    if (member.world.rank() == 0) descriptors.emplace(RLIMIT_NOFILE, 3);
    try {
      (void)member.world.split(0);
      ADD_FAILURE() << "they met";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTransport);
      EXPECT_THAT(error.what(), testing::HasSubstr("rank 0 could not open a meeting: "));
    }
    descriptors.reset();
    EXPECT_EQ(member.world.split(0).size(), 2) << "the group itself took no harm";
  });
}

}  // namespace lockstep::conformance
