// What "auto" stands for; group_test.cpp runs schedules of every name.
#include "group/schedules.h"
#include "algorithms/catalog.h"
#include "group/thread_world.h"
#include "planner/selection/selection.h"
#include "schedule/text.h"
#include "transport/shm/letterbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/comm.h>

#include <cstdlib>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

Identity identity_of(int rank, int ranks, std::vector<int> hosts = {}) {
  Identity identity;
  identity.rank = rank;
  identity.size = ranks;
  identity.hosts = std::move(hosts);
  return identity;
}

}  // namespace

TEST(Schedules, AutoFollowsTheSelectionInForce) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: 0-4KiB tree, 4KiB- ring", 1), 0);
  run_threads(2, [](World& world) {
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 4095), "tree");
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 4096), "ring");
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 4096, {.algorithm = "direct"}), "direct");
  });
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: rign", 1), 0);
  EXPECT_THROW(run_threads(2, [](World&) {}), Error);
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

TEST(Schedules, PlainMemoryHasItsOwn) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: ring; all_reduce plain: 0-1KiB naive, 1KiB- tree", 1), 0);
  run_threads(3, [](World& world) {
    const auto name_for = [&](bool registered) {
      return world.algorithm_for(Collective::kAllReduce, 4000, {}, DataType::kFloat32, registered);
    };
    EXPECT_EQ(name_for(true), "ring");
    EXPECT_EQ(name_for(false), "tree");
    const RegisteredMemory memory = world.allocate(4000);
    std::vector<float> plain(1000, 1);
    std::fill_n(static_cast<float*>(memory.data()), 1000, 1.0F);
    for (const bool registered : {true, false}) {
      const auto record = std::make_shared<OperationRecord>();
      float* const data = registered ? static_cast<float*>(memory.data()) : plain.data();
      world.all_reduce(buffer_of(data, 1000), ReduceOp::kSum, {.record = record}).wait();
      EXPECT_EQ(record->algorithm, name_for(registered));
      EXPECT_EQ(data[999], 3.0F);
    }
  });
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

/// Where no rank sees another's memory, there is one kind.
TEST(Schedules, OverTcpMemoryIsOfOneKind) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: ring; all_reduce plain: tree", 1), 0);
  detail::run_threads_over_tcp(3, [](World& world) {
    std::vector<float> plain(1000, 1);
    const auto record = std::make_shared<OperationRecord>();
    world.all_reduce(buffer_of(plain), ReduceOp::kSum, {.record = record}).wait();
    EXPECT_EQ(record->algorithm, "ring");
    for (const bool registered : {true, false}) {
      EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 4000, {}, DataType::kFloat32, registered), "ring");
    }
  });
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

TEST(Schedules, WhatTheNamedAlgorithmCannotDoIsSelected) {
  for (const char* name : {"naive", "recursive_doubling", "hierarchical:ring,ring"}) {
    ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHM", name, 1), 0);
    run_threads(3, [&](World& world) {
      EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 1 << 20), name);
      const Group group = world.split(0);
      std::vector<float> values(5, static_cast<float>(world.rank()));
      group.broadcast(buffer_of(values), 1).wait();
      EXPECT_EQ(values, std::vector<float>(5, 1.0F));
      EXPECT_THROW(group.all_to_all(values.data(), buffer_of(values), {.algorithm = name}).wait(), Error)
          << "asked for";
    });
  }
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHM", "niave", 1), 0);
  run_threads(2, [](World& world) {
    EXPECT_THAT(
        [&] { world.barrier().wait(); },
        testing::ThrowsMessage<Error>(testing::HasSubstr("LOCKSTEP_ALGORITHM: There is no algorithm 'niave'.")));
  });
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHM"), 0);
}

TEST(Schedules, InAWorldOfOneWhatIsSetMustMakeSenseToo) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: 0- rign", 1), 0);
  EXPECT_THAT([] { detail::Schedules(identity_of(0, 1), Medium::kSharedMemory, {}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("LOCKSTEP_ALGORITHMS, at '0- rign': There is no")));
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: 0- ring", 1), 0);
  EXPECT_NO_THROW(detail::Schedules(identity_of(0, 1), Medium::kSharedMemory, {}));
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

TEST(Schedules, AreAskedForWithTheHosts) {
  const std::vector<int> hosts{0, 1, 0, 1};
  detail::Schedules schedules(identity_of(1, 4, hosts), Medium::kTcp, {});
  for (const char* name :
       {"ring", "hierarchical:direct,ring", "segmented:3:ring", "segmented:2:hierarchical:ring,tree"}) {
    const Schedule expected = find_algorithm(name).build({.ranks = 4, .hosts = hosts});
    EXPECT_EQ(schedules.whole(name, Collective::kAllReduce, 0).steps, expected.steps);
    EXPECT_NE(expected.steps, find_algorithm(name).build({.ranks = 4}).steps);
    const Schedule own = find_algorithm(name).build({.ranks = 4, .only_rank = 1, .hosts = hosts});
    EXPECT_EQ(schedules.get(name, Collective::kAllReduce, 0), own);
  }
  EXPECT_EQ(schedules.resolve("auto", Collective::kAllReduce, 4, MemoryKind::kPlain),
            "hierarchical:recursive_doubling,recursive_doubling");
}

TEST(Schedules, APipelineHasOneNameHoweverItsNumberIsWritten) {
  const detail::Schedules schedules(identity_of(0, 4), Medium::kTcp, {});
  EXPECT_EQ(schedules.resolve("segmented:08:ring", Collective::kAllReduce, 4, MemoryKind::kPlain), "segmented:8:ring");
  EXPECT_THROW((void)schedules.resolve("segmented:0:ring", Collective::kAllReduce, 4, MemoryKind::kPlain), Error);
  const auto transfers = transfers_of(schedules.whole("segmented:8:ring", Collective::kAllReduce, 0));
  EXPECT_EQ(transfers, 8 * transfers_of(schedules.whole("ring", Collective::kAllReduce, 0)));
  EXPECT_TRUE(schedules.whole_of_at_most(transfers, "segmented:8:ring", Collective::kAllReduce, 0).has_value());
  EXPECT_FALSE(schedules.whole_of_at_most(transfers - 1, "segmented:8:ring", Collective::kAllReduce, 0).has_value());
}

TEST(Schedules, WhatCannotBeBuiltIsRefusedEveryTime) {
  std::vector<int> hosts;  // of so many sizes that no chunks fit
  for (const int size : {11, 13, 16, 17, 19, 23}) hosts.insert(hosts.end(), static_cast<std::size_t>(size), size);
  const int ranks = static_cast<int>(hosts.size());
  detail::Schedules schedules(identity_of(0, ranks, hosts), Medium::kTcp, {});
  for (int time = 0; time < 2; ++time) {
    EXPECT_THROW(schedules.get("hierarchical:ring,tree", Collective::kAllReduce, 0), Error) << time;
    EXPECT_THROW(schedules.get("pairwise", Collective::kAllReduce, 0), Error) << time;
  }
  EXPECT_EQ(schedules.resolve("auto", Collective::kAllReduce, 4, MemoryKind::kPlain),
            "hierarchical:recursive_doubling,naive");
  for (std::uint64_t bytes = 4; bytes <= 64U << 20U; bytes *= 4) {
    const std::string automatic = schedules.resolve("auto", Collective::kAllReduce, bytes, MemoryKind::kPlain);
    EXPECT_NO_THROW(schedules.get(automatic, Collective::kAllReduce, 0)) << automatic;
  }
}

/// A ring of 4,096 ranks has 33 million transfers, and each rank 16,380.
TEST(Schedules, OverMessagesARankKeepsItsOwnTransfersOnly) {
  const ScheduleRequest nine{.collective = Collective::kAllReduce, .ranks = 9};
  ScheduleRequest of_five = nine;
  of_five.only_rank = 5;
  for (const Medium medium : {Medium::kTcp, Medium::kMpi, Medium::kSharedMemory}) {
    detail::Schedules schedules(identity_of(5, 9), medium, {});
    for (const char* name : {"ring", "direct", "tree", "segmented:4:ring"}) {
      const Schedule whole = find_algorithm(name).build(nine);
      const Schedule own = find_algorithm(name).build(of_five);
      ASSERT_LT(transfers_of(own), transfers_of(whole)) << name;
      EXPECT_EQ(schedules.get(name, Collective::kAllReduce, 0), medium == Medium::kSharedMemory ? whole : own);
      EXPECT_EQ(schedules.whole(name, Collective::kAllReduce, 0), whole);
      EXPECT_EQ(schedules.get(name, Collective::kAllReduce, 0).steps.size(), whole.steps.size()) << name;
    }
  }
}

TEST(Schedules, AWholeOneWithTooManyTransfersIsNotBuilt) {
  const detail::Schedules schedules(identity_of(0, 9), Medium::kTcp, {});
  const auto transfers = transfers_of(schedules.whole("ring", Collective::kAllReduce, 0));
  EXPECT_TRUE(schedules.whole_of_at_most(transfers, "ring", Collective::kAllReduce, 0).has_value());
  EXPECT_FALSE(schedules.whole_of_at_most(transfers - 1, "ring", Collective::kAllReduce, 0).has_value());
  const detail::Schedules vast(identity_of(0, 1'000'000), Medium::kTcp, {});
  EXPECT_FALSE(vast.whole_of_at_most(20'000, "ring", Collective::kAllReduce, 0).has_value()) << "two million millions";
}

TEST(Schedules, WhatWasLoadedStaysWholeForWhoProvesOrPricesIt) {
  const Schedule ring = find_algorithm("ring").build({.ranks = 3});
  detail::Schedules schedules(identity_of(2, 3), Medium::kTcp, {});
  const std::string name = schedules.load(to_text(ring));
  for (const Schedule& loaded :
       {schedules.get(name, Collective::kAllReduce, 0), schedules.whole(name, Collective::kAllReduce, 0),
        schedules.whole_of_at_most(1000, name, Collective::kAllReduce, 0).value()}) {
    EXPECT_EQ(loaded.steps, ring.steps);
  }
  EXPECT_FALSE(schedules.whole_of_at_most(1, name, Collective::kAllReduce, 0).has_value());
  EXPECT_THROW(schedules.whole(name, Collective::kAllGather, 0), Error);
}

/// Two containers of a machine: what each asks its own system would say one thing to some and another to others.
TEST(Schedules, RanksThatMayUseDifferentNumbersOfCoresChooseByTheLeast) {
  for (const auto& [medium, bytes] : {std::pair(Medium::kTcp, 64 << 20), std::pair(Medium::kSharedMemory, 16 << 10)}) {
    const int ranks = medium == Medium::kTcp ? 8 : 4;
    const auto picked_with = [&, medium = medium, bytes = bytes](int cores) {
      return select(built_in_selection(ranks, medium, {}, cores), Collective::kAllReduce, bytes, MemoryKind::kPlain);
    };
    ASSERT_NE(picked_with(2), picked_with(ranks)) << "it matters here";
    for (const int poorest : {0, ranks - 1}) {
      for (int rank = 0; rank < ranks; ++rank) {
        Identity identity = identity_of(rank, ranks);
        identity.cores.assign(static_cast<std::size_t>(ranks), ranks);
        identity.cores[static_cast<std::size_t>(poorest)] = 2;
        const detail::Schedules schedules(identity, medium, {});
        EXPECT_EQ(
            schedules.resolve("auto", Collective::kAllReduce, static_cast<std::size_t>(bytes), MemoryKind::kPlain),
            picked_with(2));
      }
    }
  }
}

/// A part of a world of ranks that take turns takes them, too, though it has no more ranks than there are cores.
TEST(Schedules, APartOfAWorldChoosesByTheCoresOfItsRanks) {
  constexpr std::size_t kBytes = 16 << 10;
  const auto picked = [&](std::vector<RankHere> here) {
    Identity identity = identity_of(0, 2);
    identity.cores = {2, 3};  // this machine's own number of them does not matter then
    identity.here = std::move(here);
    const detail::Schedules schedules(identity, Medium::kSharedMemory, {});
    return schedules.resolve("auto", Collective::kAllReduce, kBytes, MemoryKind::kRegistered);
  };
  EXPECT_EQ(picked({{0, 2}, {1, 2}}), "direct");
  EXPECT_EQ(picked({{0, 4}, {1, 4}}), "naive") << "both are on one core";
  EXPECT_EQ(picked({{0, 4}, {2, 4}}), "naive") << "on two, which others share";
}

/// The cores of one have nothing to do with those of another.
TEST(Schedules, APartOnSeveralHostsThatHaveDifferentNumbersOfRanksChoosesAsAnyOther) {
  Identity whole = identity_of(0, 4);
  whole.hosts = {0, 1, 1, 1};
  Identity part = whole;
  part.here = {{2, 3}, {0, 64}, {40, 64}, {63, 64}};
  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{16} << 20}) {
    const auto picked = [&](const Identity& identity) {
      return detail::Schedules(identity, Medium::kTcp, {})
          .resolve("auto", Collective::kAllReduce, bytes, MemoryKind::kRegistered);
    };
    EXPECT_EQ(picked(part), picked(whole)) << bytes;
  }
}

TEST(Schedules, WhatIsSaidOfAlgorithmsHoldsForRanksWithDifferentNumbersOfCoresToo) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: swing", 1), 0);
  Identity identity = identity_of(0, 8);
  identity.cores = {2, 8, 8, 8, 8, 8, 8, 8};
  const detail::Schedules schedules(identity, Medium::kTcp, {});
  EXPECT_EQ(schedules.resolve("auto", Collective::kAllReduce, 64, MemoryKind::kPlain), "swing");
  EXPECT_EQ(schedules.resolve("auto", Collective::kBarrier, 0, MemoryKind::kPlain), "recursive_doubling");
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

/// The two are written down in layers that do not know each other.
TEST(Schedules, AutoIsNaiveAsFarAsLettersReach) {
  const Selection selection = built_in_selection(1);
  EXPECT_EQ(select(selection, Collective::kAllReduce, shm::Letterbox::kBytes - 1), "naive");
  EXPECT_EQ(select(selection, Collective::kAllReduce, shm::Letterbox::kBytes), "star");
}

}  // namespace lockstep
