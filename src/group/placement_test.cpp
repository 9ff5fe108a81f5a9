#include "group/placement.h"

#include "group/group_state.h"
#include "group/thread_world.h"
#include "transport/shm/thread_host.h"
#include "transport/tcp/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::detail {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::unique_ptr<Engine>> engines(int ranks) {
  std::vector<std::unique_ptr<Engine>> result;
  for (tcp::Host& host : tcp::thread_hosts(ranks)) result.push_back(make_engine(tcp::create(std::move(host))));
  return result;
}

/// What each rank hears, or the error that it is told; `hosts` are the ranks' own, a null pointer's never speaks.
std::vector<std::string> heard(const std::vector<const char*>& hosts) {
  std::vector<std::unique_ptr<Engine>> all = engines(static_cast<int>(hosts.size()));
  std::vector<std::string> heard(hosts.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] == nullptr) continue;
    threads.emplace_back([&, rank] {
      try {
        heard[rank] = testing::PrintToString(
            tell_whereabouts(*all[rank], {.host = hosts[rank]}, std::chrono::milliseconds(200)).placement);
      } catch (const Error& error) {
        heard[rank] = error.what();
      }
    });
  }
  threads.clear();
  return heard;
}

/// What each rank hears of the others, over engines of any kind.
std::vector<Surroundings> heard(std::vector<std::unique_ptr<Engine>>& all, const std::vector<Whereabouts>& own) {
  std::vector<Surroundings> heard(all.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    threads.emplace_back(
        [&, rank] { heard[rank] = tell_whereabouts(*all[rank], own[rank], std::chrono::seconds(30)); });
  }
  threads.clear();
  return heard;
}

/// Of each rank, "star summed right", or the error that it was told: what an all_reduce of plain memory was where they
/// say that they may use so many cores.
std::vector<std::string> ran(std::vector<std::unique_ptr<Engine>> all, const std::vector<int>& cores,
                             std::size_t count) {
  std::vector<Whereabouts> own;
  for (const int each : cores) own.push_back({.host = "here", .cores = each});
  const std::vector<Surroundings> known = heard(all, own);
  std::vector<std::string> ran(all.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Identity identity;
      identity.rank = static_cast<int>(rank);
      identity.size = static_cast<int>(all.size());
      identity.cores = known[rank].cores;
      const World world = WorldMaker::make(std::make_shared<GroupState>(identity, std::move(all[rank])));
      try {
        const auto record = std::make_shared<OperationRecord>();
        std::vector<float> values(count, 1);
        world.all_reduce(buffer_of(values), ReduceOp::kSum, {.record = record}).wait();
        const bool is_right = values == std::vector<float>(count, static_cast<float>(world.size()));
        ran[rank] = record->algorithm + (is_right ? " summed right" : " summed wrong");
      } catch (const Error& error) {
        ran[rank] = error.what();
      }
    });
  }
  threads.clear();
  return ran;
}

}  // namespace

TEST(Placement, NumbersHostsAsTheyAppear) {
  EXPECT_THAT(heard({"b", "a", "b", "c", "a"}), testing::Each("{ 0, 1, 0, 2, 1 }"));
  EXPECT_THAT(heard({"same", "same"}), testing::Each("{}")) << "one host needs no numbers";
}

TEST(Placement, TellsWhetherRanksFollowTheSameCalibration) {
  for (const std::uint64_t of_last : {7, 8}) {
    std::vector<std::unique_ptr<Engine>> all = engines(3);
    const Whereabouts seven{.host = "here", .calibration = 7};
    const Whereabouts last{.host = "here", .calibration = of_last};
    EXPECT_THAT(heard(all, {seven, seven, last}),
                testing::Each(testing::Field(&Surroundings::same_calibration, of_last == 7)));
  }
}

TEST(Placement, TellsHowManyCoresEachRankMayUseWhereTheyDiffer) {
  std::vector<std::unique_ptr<Engine>> all = engines(3);
  const Whereabouts rich{.host = "here", .cores = 64};
  const Whereabouts poor{.host = "here", .cores = 2};
  EXPECT_THAT(heard(all, {rich, poor, rich}),
              testing::Each(testing::Field(&Surroundings::cores, ElementsAre(64, 2, 64))));
  all = engines(3);
  EXPECT_THAT(heard(all, {rich, rich, rich}), testing::Each(testing::Field(&Surroundings::cores, IsEmpty())));
}

/// As in two containers of a machine that may use 2 and 8 of its cores.
TEST(Placement, RanksWithDifferentNumbersOfCoresRunTheSame) {
  EXPECT_THAT(ran(engines(8), {8, 8, 2, 8, 8, 8, 2, 8}, 1 << 19), testing::Each("ring summed right"));
  EXPECT_THAT(ran(engines(8), {2, 8, 8, 8, 8, 8, 8, 8}, 1 << 19), testing::Each("ring summed right"));
  std::vector<std::unique_ptr<Engine>> sharing;
  for (shm::Host& host : shm::thread_hosts(4)) sharing.push_back(make_engine(shm::create(std::move(host))));
  EXPECT_THAT(ran(std::move(sharing), {8, 8, 2, 8}, 1 << 12), testing::Each("recursive_doubling summed right"));
}

TEST(Placement, ARankThatSaysNothingIsNamed) {
  const std::vector<std::string> told = heard({"a", "a", nullptr});
  EXPECT_THAT(told[0], AllOf(HasSubstr("rank 2"), HasSubstr("to learn which ranks share a host")));
  EXPECT_THAT(told[1], HasSubstr("waited 0.2 s for rank 0"));
}

TEST(Placement, CountsRanksOfEachHost) {
  const auto here = ranks_here({0, 1, 0, 0, 1}, 5);
  const RankHere expected[] = {{0, 3}, {0, 2}, {1, 3}, {2, 3}, {1, 2}};
  for (std::size_t rank = 0; rank < std::size(expected); ++rank) {
    EXPECT_EQ(here[rank].rank, expected[rank].rank) << rank;
    EXPECT_EQ(here[rank].ranks, expected[rank].ranks) << rank;
  }
  EXPECT_EQ(ranks_here({}, 3).back().rank, 2) << "all share a host";
  EXPECT_EQ(ranks_here({}, 3).back().ranks, 3);
}

TEST(Placement, OfMembersIsNumberedAnew) {
  const Placement whole{0, 0, 1, 1, 2};
  EXPECT_THAT(placement_of(whole, {4, 2, 3, 1}), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(placement_of(whole, {2, 3}), IsEmpty()) << "they share a host";
  EXPECT_THAT(placement_of({}, {0, 1}), IsEmpty());
  EXPECT_THAT(cores_of({8, 8, 2, 4}, {3, 0}), ElementsAre(4, 8));
  EXPECT_THAT(cores_of({8, 8, 2, 4}, {1, 0}), IsEmpty()) << "the same for both";
  EXPECT_THAT(cores_of({}, {0, 1}), IsEmpty());
}

}  // namespace lockstep::detail
