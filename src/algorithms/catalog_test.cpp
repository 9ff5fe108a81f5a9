#include "algorithms/catalog.h"

#include "algorithms/every_request_for_tests.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/text.h"
#include "schedule/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <bit>
#include <set>
#include <string>
#include <utility>

namespace lockstep {

namespace {

void expect_own_parts_of_the_whole(const Algorithm& algorithm, ScheduleRequest request) {
  const Schedule whole = algorithm.build(request);
  for (int rank = 0; rank < request.ranks; ++rank) {
    request.only_rank = rank;
    ASSERT_EQ(view_of(whole, rank), view_of(algorithm.build(request), rank));
  }
}

}  // namespace

TEST(Catalog, EveryAlgorithmDeliversEveryCollectiveOnAnyNumberOfRanks) {
  for_each_request(17, [](const Algorithm& algorithm, const ScheduleRequest& request) {
    const Schedule schedule = algorithm.build(request);
    EXPECT_EQ(schedule.name, algorithm.name);
    EXPECT_EQ(schedule.collective, request.collective);
    EXPECT_EQ(schedule.ranks, request.ranks);
    EXPECT_EQ(schedule.root, request.root);
    EXPECT_TRUE(concrete::delivers(schedule));
  });
}

/// Each rank but the first has another place in the order of the hosts.
TEST(Catalog, EveryAlgorithmKeepsItsRootWhereRanksOfAHostAreNotNeighbours) {
  for_each_request_on(5, [](const Algorithm& algorithm, ScheduleRequest request) {
    request.hosts = {0, 1, 1, 1, 0};
    const Schedule schedule = algorithm.build(request);
    EXPECT_EQ(schedule.root, request.root);
    EXPECT_TRUE(concrete::delivers(schedule));
  });
}

TEST(Catalog, EveryAlgorithmSaysWhatItIsAndWhenToUseIt) {
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_NE(algorithm.description, "") << algorithm.name;
    EXPECT_NE(algorithm.use, "") << algorithm.name;
  }
}

TEST(Catalog, OneRankHasNothingToDo) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : algorithm.collectives) {
      EXPECT_TRUE(algorithm.build({.collective = collective, .ranks = 1}).steps.empty());
    }
  }
}

TEST(Catalog, ARanksOwnPartHasTheSameViewAsTheWhole) { for_each_request(17, expect_own_parts_of_the_whole); }

TEST(Catalog, ARanksOwnPartHasTheSameViewWhereRanksOfAHostAreNotNeighbours) {
  std::set<std::string> moved;
  const auto check = [&](const Algorithm& algorithm, ScheduleRequest request) {
    const Schedule in_order = algorithm.build(request);
    request.hosts = {0, 1, 1, 1, 0};
    if (algorithm.build(request) != in_order) moved.insert(algorithm.name);
    expect_own_parts_of_the_whole(algorithm, request);
  };
  for_each_request_on(5, check);
  EXPECT_THAT(moved, testing::UnorderedElementsAre("ring", "bidirectional_ring", "swing"));
  for_each_composed_request_on(5, check);
}

TEST(Catalog, EveryScheduleIsReadBackAsItWasWritten) {
  for_each_request(9, [](const Algorithm& algorithm, const ScheduleRequest& request) {
    const Schedule schedule = algorithm.build(request);
    EXPECT_EQ(parse_schedule(to_text(schedule), "written"), schedule);
  });
}

TEST(Catalog, TellsWhichNamesStandForTheSameSchedule) {
  const ScheduleRequest of_two{.ranks = 2};
  const std::map<std::string, std::string> first = first_alike({"tree", "ring", "star", "vendor", "tree"}, of_two);
  EXPECT_THAT(first, testing::UnorderedElementsAre(testing::Pair("tree", "tree"), testing::Pair("star", "tree"),
                                                   testing::Pair("ring", "ring"), testing::Pair("vendor", "vendor")));
  EXPECT_EQ(first_alike({"tree", "star"}, {.ranks = 4}).at("star"), "star");
}

TEST(Catalog, AnUnknownNameIsAnsweredWithTheNearest) {
  try {
    find_algorithm("rign");
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), "There is no algorithm 'rign'. Did you mean 'ring'?");
  }
}

TEST(Catalog, ACollectiveThatAnAlgorithmDoesNotDoIsAnsweredWithThoseThatDo) {
  EXPECT_FALSE(find_algorithm("ring").supports(Collective::kAllToAll));
  try {
    (void)find_algorithm("ring").build({.collective = Collective::kAllToAll, .ranks = 3});
    FAIL() << "built";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(),
                testing::MatchesRegex("The algorithm 'ring' does no all_to_all, but all_reduce, .*; these do: direct, "
                                      "pairwise\\."));
  }
}

TEST(Catalog, AllComposesWhereSomeRanksShareAHostAndOthersDoNot) {
  const std::vector<std::string_view> flat = algorithms_for(Collective::kAllReduce);
  for (const std::vector<int>& hosts : {std::vector<int>{}, {0, 0, 0, 0}, {0, 1, 2, 3}}) {
    EXPECT_THAT(all_algorithms(Collective::kAllReduce, hosts), testing::ElementsAreArray(flat));
  }
  const std::vector<int> two{0, 0, 1, 1};
  EXPECT_THAT(all_algorithms(Collective::kGather, two), testing::ElementsAreArray(algorithms_for(Collective::kGather)));
  EXPECT_THAT(all_algorithms(Collective::kBroadcast, two),
              testing::IsSupersetOf({"hierarchical:tree,tree", "hierarchical:circulant,circulant"}));
  const std::vector<std::string> names = all_algorithms(Collective::kAllReduce, two);
  EXPECT_THAT(names, testing::IsSupersetOf(flat));
  EXPECT_THAT(names, testing::IsSupersetOf({"hierarchical:ring,ring", "hierarchical:direct,halving_doubling"}));
  for (const Collective collective : kCollectives) {
    for (const std::string& name : all_algorithms(collective, two)) {
      EXPECT_NO_THROW((void)find_algorithm(name).build({.collective = collective, .ranks = 4, .hosts = two}));
    }
  }
}

/// As `lockstep info` and the guide say of them.
TEST(Catalog, WhatPairsPartnersHasTheStepsOfItsDescription) {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    const bool is_power = std::has_single_bit(static_cast<unsigned>(ranks));
    const auto floor_log2 = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks)) - 1);
    for (const auto& [name, passes] : {std::pair("recursive_doubling", 1U), {"halving_doubling", 2U}, {"swing", 2U}}) {
      EXPECT_EQ(find_algorithm(name).build({.ranks = ranks}).steps.size(), passes * floor_log2 + (is_power ? 0 : 2))
          << name << " of " << ranks;
    }
  }
}

TEST(Catalog, RefusesARootThatIsNotThere) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : algorithm.collectives) {
      EXPECT_THROW(algorithm.build({.collective = collective, .ranks = 0}), Error);
      if (has_root(collective)) {
        EXPECT_THROW(algorithm.build({.collective = collective, .ranks = 3, .root = 3}), Error);
      }
    }
  }
}

}  // namespace lockstep
