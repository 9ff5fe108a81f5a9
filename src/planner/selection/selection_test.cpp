#include "planner/selection/selection.h"

#include "algorithms/catalog.h"
#include "schedule/promise.h"
#include "topology/cpu_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

void expect_refused(const std::string& text, const std::string& sentence) {
  SCOPED_TRACE(text);
  try {
    (void)Selection::parse(text, "LOCKSTEP_ALGORITHMS");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::StartsWith("LOCKSTEP_ALGORITHMS, at '"));
    EXPECT_THAT(error.what(), testing::HasSubstr(sentence));
  }
}

}  // namespace

TEST(Selection, ASizeBelongsToTheRangeAtItOrBelow) {
  const Selection selection = Selection::parse("all_reduce: 0-4KiB tree, 4KiB-1MiB direct, 1MiB- ring", "text");
  EXPECT_EQ(selection.select(Collective::kAllReduce, 0), "tree");
  EXPECT_EQ(selection.select(Collective::kAllReduce, 4095), "tree");
  EXPECT_EQ(selection.select(Collective::kAllReduce, 4096), "direct");
  EXPECT_EQ(selection.select(Collective::kAllReduce, 1 << 20), "ring");
  EXPECT_EQ(selection.select(Collective::kBroadcast, 1), "");
}

TEST(Selection, TheTextComesBack) {
  for (const char* text :
       {"all_reduce: 0-1000 direct, 1000-4KiB tree, 4KiB- ring; broadcast: 0- tree",
        "all_reduce: 0-3MiB direct, 3MiB- ring", "all_gather: 0-1KiB ring, 1KiB- vendor",
        "all_reduce: 0- ring; all_reduce plain: 0-64KiB naive, 64KiB- direct; barrier: 0- tree",
        "all_reduce: 0-1MiB ring, 1MiB- segmented:8:double_tree",
        "all_reduce: 0-1KiB segmented:2:hierarchical:direct,ring, 1KiB- tree; broadcast: 0- segmented:4:ring", ""}) {
    EXPECT_EQ(Selection::parse(text, "text").to_text(), text);
  }
  EXPECT_EQ(Selection::parse(" broadcast :tree ; ", "text").to_text(), "broadcast: 0- tree");
  EXPECT_EQ(Selection::parse("all_reduce: ring;\r\nall_reduce\tplain: tree\r\n", "text").to_text(),
            "all_reduce: 0- ring; all_reduce plain: 0- tree");
  EXPECT_EQ(Selection::parse("all_reduce: 0-1KiB ring, 1KiB- ring", "text").to_text(), "all_reduce: 0- ring");
}

TEST(Selection, EachMistakeHasItsPlaceAndWhatToWrite) {
  expect_refused("ring", "written like 'all_reduce: 0-4KiB direct, 4KiB- ring'");
  expect_refused("allreduce: ring", "Did you mean 'all_reduce'?");
  expect_refused("all_reduce: rign", "Did you mean 'ring'?");
  expect_refused("all_reduce: 0- segmented:0:ring", "from 1 to 65536; '0' is not one.");
  expect_refused("all_to_all: segmented:2:ring", "The algorithm 'segmented:2:ring' does no all_to_all");
  expect_refused("all_reduce: 0-4KiB pairwise, 4KiB- ring",
                 "at '0-4KiB pairwise': The algorithm 'pairwise' does no all_reduce, but all_to_all; these do: ");
  expect_refused("all_reduce: 0-4KiB ring", "The last range must have no upper end");
  expect_refused("all_reduce: 1KiB- ring", "this one has to start at 0");
  expect_refused("all_reduce: 0-4KiB ring, 8KiB- tree", "this one has to start at 4KiB");
  expect_refused("all_reduce: 0- ring, 8KiB- tree", "none can follow");
  expect_refused("all_reduce: 0-0 ring", "A range ends above its start.");
  expect_refused("all_reduce: 0-4KB5 ring", "is not a size");
  expect_refused("all_reduce: 04KiB ring", "A range is written like");
  expect_refused("all_reduce: 0-", "An algorithm is missing");
  expect_refused("all_reduce:", "An algorithm is missing");
  expect_refused("all_reduce: 0-1KiB ring,", "An algorithm is missing");
  expect_refused("all_reduce: ring; all_reduce: tree", "stands here twice");
  expect_refused("all_reduce plain: ring", "comes after what holds for the collective");
  expect_refused("all_reduce: ring; all_reduce plain: tree; all_reduce plain: ring", "stands here twice");
  expect_refused("all_reduce plane: ring", "Did you mean");
}

TEST(Selection, PlainMemoryIsTheSameUnlessSomethingIsSaidOfIt) {
  Selection selection = Selection::parse("all_reduce: ring; all_reduce plain: naive; broadcast: tree", "text");
  EXPECT_EQ(selection.select(Collective::kAllReduce, 8, MemoryKind::kPlain), "naive");
  EXPECT_EQ(selection.select(Collective::kAllReduce, 8), "ring");
  EXPECT_EQ(selection.select(Collective::kBroadcast, 8, MemoryKind::kPlain), "tree");
  const Selection before = selection;
  selection.override_with(Selection::parse("all_reduce: direct", "text"));
  EXPECT_EQ(selection.select(Collective::kAllReduce, 8, MemoryKind::kPlain), "direct") << "what is said holds for all";
  selection.take_plain_from(before);
  EXPECT_EQ(selection.to_text(), "all_reduce: 0- direct; all_reduce plain: 0- naive; broadcast: 0- tree");
}

TEST(Selection, TwoRanksExchangePlainMemory) {
  for (const std::uint64_t bytes : {64ULL, 1ULL << 20U, 64ULL << 20U}) {
    EXPECT_EQ(select(built_in_selection(2), Collective::kAllReduce, bytes, MemoryKind::kPlain), "naive");
    EXPECT_EQ(select(built_in_selection(2, Medium::kMpi), Collective::kAllReduce, bytes, MemoryKind::kPlain),
              select(built_in_selection(2, Medium::kMpi), Collective::kAllReduce, bytes));
  }
  EXPECT_EQ(select(built_in_selection(4), Collective::kAllReduce, 64 << 20, MemoryKind::kPlain), "direct");
}

TEST(Selection, FewRanksThatTakeTurnsExchangeInPairsBetweenSmallAndLarge) {
  for (const int cores : {3, 4}) {
    const Selection selection = built_in_selection(4, Medium::kSharedMemory, {}, cores);
    EXPECT_EQ(select(selection, Collective::kAllReduce, 16 << 10, MemoryKind::kPlain),
              cores < 4 ? "recursive_doubling" : "naive");
    EXPECT_EQ(select(selection, Collective::kAllReduce, 1024, MemoryKind::kPlain), "naive");
  }
  EXPECT_EQ(built_in_selection(4), built_in_selection(4, Medium::kSharedMemory, {}, job_cpus()));
}

TEST(Selection, ABroadcastFromPlainMemoryIsStagedOnce) {
  EXPECT_EQ(select(built_in_selection(8), Collective::kBroadcast, 1 << 20, MemoryKind::kPlain), "star");
}

TEST(Selection, RanksThatShareCoresMeetOnceForSmallMessages) {
  const Selection selection = built_in_selection(128, Medium::kSharedMemory, {}, 2);
  EXPECT_EQ(select(selection, Collective::kAllReduce, 4), "naive");
  EXPECT_EQ(select(selection, Collective::kAllReduce, 64 * 1024), "star");
  EXPECT_EQ(select(selection, Collective::kAllReduce, 1 << 20), "direct");
}

TEST(Selection, OnOneCoreAllIsReadFromOneCache) {
  for (const int ranks : {2, 3, 8}) {
    const Selection one = built_in_selection(ranks, Medium::kSharedMemory, {}, 1);
    for (const std::uint64_t bytes : {64ULL << 10U, 1ULL << 20U, 64ULL << 20U}) {
      EXPECT_EQ(select(one, Collective::kAllReduce, bytes), "star");
      EXPECT_EQ(select(one, Collective::kReduce, bytes), "star");
    }
    EXPECT_EQ(select(one, Collective::kAllReduce, 16 << 10), ranks == 2 ? "naive" : "star");
    EXPECT_EQ(select(one, Collective::kAllReduce, 512), "naive");
  }
  EXPECT_EQ(select(built_in_selection(8, Medium::kSharedMemory, {}, 2), Collective::kReduce, 1 << 20), "direct");
}

/// `number` hosts of `ranks` ranks each, but for the last.
std::vector<int> hosts_of(int number, int ranks, int on_last) {
  std::vector<int> hosts;
  for (int host = 0; host < number; ++host) {
    hosts.insert(hosts.end(), static_cast<std::size_t>(host + 1 == number ? on_last : ranks), host);
  }
  return hosts;
}

/// Of each size what it is, without the word that compositions begin with.
std::vector<std::string> all_reduces_of(const std::vector<int>& hosts) {
  const Selection selection = built_in_selection(static_cast<int>(hosts.size()), Medium::kTcp, hosts);
  const std::vector<std::string> all = all_algorithms(Collective::kAllReduce, hosts);
  std::vector<std::string> names;
  for (const std::uint64_t bytes : {4ULL, 32ULL << 10U, 256ULL << 10U, 1ULL << 20U, 64ULL << 20U}) {
    const std::string name = select(selection, Collective::kAllReduce, bytes);
    EXPECT_THAT(all, testing::Contains(name)) << "so that `--algorithm all` measures what auto picks";
    const std::string word = "hierarchical:";
    const std::size_t begin = name.find(word);
    names.push_back(begin == std::string::npos ? name : name.substr(0, begin) + name.substr(begin + word.size()));
  }
  return names;
}

TEST(Selection, AnAllReduceIsComposedOnHostsThatHaveChunksInCommon) {
  using testing::ElementsAre;
  const char* const doubling = "recursive_doubling,recursive_doubling";
  const char* const naive = "recursive_doubling,naive";
  const char* const direct = "recursive_doubling,direct";
  const char* const few = "segmented:8:circulant,ring";
  const char* const many = "segmented:16:circulant,ring";
  for (const int on_last : {4, 3, 1}) {
    const std::string pairs = "circulant,recursive_doubling";
    EXPECT_THAT(all_reduces_of(hosts_of(2, 4, on_last)), ElementsAre(doubling, pairs, pairs, few, many)) << on_last;
    EXPECT_THAT(all_reduces_of(hosts_of(3, 4, on_last)), ElementsAre(naive, direct, "circulant,direct", few, many));
    const std::string middle = "circulant,circulant";
    EXPECT_THAT(all_reduces_of(hosts_of(10, 4, on_last)), ElementsAre(naive, direct, middle, middle, many));
    const std::string power = "circulant,swing";
    EXPECT_THAT(all_reduces_of(hosts_of(16, 4, on_last)), ElementsAre(doubling, direct, power, power, many));
    EXPECT_THAT(all_reduces_of(hosts_of(32, 4, on_last)), ElementsAre(doubling, power, power, power, many));
  }
  EXPECT_EQ(all_reduces_of({7, 3, 7, 3}), all_reduces_of({0, 0, 1, 1})) << "wherever the ranks are";
  EXPECT_EQ(built_in_selection(4, Medium::kSharedMemory, {0, 0, 1, 1}),
            built_in_selection(4, Medium::kTcp, {0, 0, 1, 1}));
}

TEST(Selection, AnAllReduceOnHostsWithoutChunksInCommonIsComposedWhileItIsSmall) {
  std::vector<int> hosts;
  for (int host = 0; host < 4; ++host) hosts.insert(hosts.end(), static_cast<std::size_t>(16 - host), host);
  EXPECT_THAT(all_reduces_of(hosts), testing::ElementsAre("recursive_doubling,naive", "recursive_doubling,direct",
                                                          "recursive_doubling,direct", "ring", "ring"));
  EXPECT_THAT(all_reduces_of(hosts_of(2, 25, 24)),
              testing::ElementsAre("recursive_doubling,recursive_doubling", "recursive_doubling,recursive_doubling",
                                   "ring", "ring", "ring"));
}

/// Segments are cut where there are not too many of them to run.
TEST(Selection, WhatIsLargestRunsOnAnyNumberOfHosts) {
  for (const std::vector<int>& hosts : {hosts_of(250, 4, 4), hosts_of(300, 4, 4), hosts_of(300, 4, 3)}) {
    const int ranks = static_cast<int>(hosts.size());
    const Selection selection = built_in_selection(ranks, Medium::kTcp, hosts);
    for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
      const std::string name = select(selection, collective, 1 << 30);
      EXPECT_EQ(pipeline_of(name).has_value(), ranks == 1000) << name;
      EXPECT_NO_THROW(
          (void)find_algorithm(name).build({.collective = collective, .ranks = ranks, .only_rank = 0, .hosts = hosts}));
    }
  }
}

TEST(Selection, AnAllReduceOfLoneRanksIsWhatGoesBetweenHosts) {
  EXPECT_THAT(all_reduces_of(hosts_of(2, 1, 1)), testing::ElementsAre("recursive_doubling", "recursive_doubling",
                                                                      "recursive_doubling", "circulant", "circulant"));
  EXPECT_THAT(all_reduces_of(hosts_of(4, 1, 1)), testing::ElementsAre("naive", "direct", "direct", "direct", "ring"));
  EXPECT_THAT(all_reduces_of(hosts_of(8, 1, 1)), testing::ElementsAre("naive", "direct", "swing", "swing", "ring"));
  EXPECT_THAT(all_reduces_of(hosts_of(24, 1, 1)),
              testing::ElementsAre("recursive_doubling", "direct", "circulant", "circulant", "ring"));
}

/// Where hosts are of any sizes, each with what `--algorithm all` measures.
TEST(Selection, WhatIsDoneInStagesIsComposedUpToSomeSize) {
  using enum Collective;
  const std::vector<int> uneven{0, 0, 0, 1, 2};
  std::vector<int> ten_hosts;
  std::vector<int> sixteen_hosts;
  for (int rank = 0; rank < 20; ++rank) ten_hosts.push_back(rank / 2);
  for (int rank = 0; rank < 32; ++rank) sixteen_hosts.push_back(rank % 16);
  for (const std::vector<int>& hosts : {uneven, ten_hosts, sixteen_hosts}) {
    const Selection selection = built_in_selection(static_cast<int>(hosts.size()), Medium::kTcp, hosts);
    for (const Collective collective : {kReduceScatter, kAllGather, kBroadcast, kReduce}) {
      for (const std::uint64_t bytes : {4U, 16U << 10U, 256U << 10U}) {
        const std::string name = select(selection, collective, bytes);
        EXPECT_TRUE(composition_of(name)) << name;
        EXPECT_THAT(all_algorithms(collective, hosts), testing::Contains(name));
      }
      const bool is_of_blocks = collective == kReduceScatter || collective == kAllGather;
      const std::string largest = select(selection, collective, 64 << 20);
      EXPECT_EQ(largest, is_of_blocks ? "segmented:16:hierarchical:circulant,ring" : "ring");
      EXPECT_THAT(all_algorithms(collective, hosts), testing::Contains(largest));
    }
    EXPECT_EQ(select(selection, kGather, 1 << 20), "star") << "is not composed";
  }
  const auto of_middle = [](const std::vector<int>& hosts) {
    return select(built_in_selection(static_cast<int>(hosts.size()), Medium::kTcp, hosts), kAllGather, 512 << 10);
  };
  EXPECT_EQ(of_middle(uneven), "hierarchical:ring,ring");
  EXPECT_EQ(of_middle(ten_hosts), "hierarchical:circulant,circulant");
  EXPECT_EQ(of_middle(sixteen_hosts), "hierarchical:circulant,swing");
  EXPECT_EQ(select(built_in_selection(4, Medium::kTcp, {0, 0, 0, 1}), kReduceScatter, 1 << 20),
            "hierarchical:circulant,direct")
      << "of two hosts half of the buffer crosses, by a ring nearly all";
  EXPECT_EQ(of_middle(hosts_of(5, 1, 1)), "direct");
  EXPECT_EQ(of_middle(hosts_of(6, 1, 1)), "circulant");
  EXPECT_EQ(of_middle(hosts_of(8, 1, 1)), "swing");
}

TEST(Selection, OverTcpOnOneHostFewerMessagesWinWhileCachesHoldThem) {
  const auto picked_at = [](std::uint64_t bytes, int ranks, Medium medium, const std::vector<int>& hosts = {}) {
    return select(built_in_selection(ranks, medium, hosts, 8), Collective::kAllReduce, bytes);
  };
  const auto picked = [&](int ranks, Medium medium, const std::vector<int>& hosts = {}) {
    return picked_at(64 << 20, ranks, medium, hosts);
  };
  for (const int ranks : {2, 4, 8}) {
    EXPECT_EQ(picked_at(16 << 10, ranks, Medium::kTcp), "recursive_doubling");
    EXPECT_EQ(picked_at(512 << 10, ranks, Medium::kTcp), "halving_doubling");
  }
  EXPECT_EQ(picked(2, Medium::kTcp), "halving_doubling");
  EXPECT_EQ(picked(4, Medium::kTcp), "halving_doubling");
  EXPECT_EQ(picked(4, Medium::kTcp, {5, 5, 5, 5}), picked(4, Medium::kTcp));
  EXPECT_EQ(picked(8, Medium::kTcp), "halving_doubling");
  EXPECT_EQ(picked(3, Medium::kTcp), "ring") << "no power of two";
  EXPECT_EQ(picked(2, Medium::kTcp, {0, 1}), "circulant") << "a network lies between";
  EXPECT_EQ(picked(2, Medium::kMpi), "ring") << "knows better ways than sockets";
}

TEST(Selection, OverTcpRanksThatTakeTurnsSendAsFewMessagesAsTheyCan) {
  const auto picked = [](int ranks, Collective collective, std::uint64_t bytes) {
    return select(built_in_selection(ranks, Medium::kTcp, {}, 2), collective, bytes);
  };
  for (const int ranks : {3, 4, 6, 8}) {
    EXPECT_EQ(picked(ranks, Collective::kAllReduce, 4096), "star") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kAllReduce, 256 << 10), "tree") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kAllReduce, 64 << 20), "ring") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kBroadcast, 256 << 10), "tree") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kBroadcast, 16 << 20), ranks == 3 ? "double_tree" : "ring") << ranks;
    const bool power_of_two = ranks == 4 || ranks == 8;
    EXPECT_EQ(picked(ranks, Collective::kReduce, 256 << 10), power_of_two ? "tree" : "star") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kReduce, 16 << 20), power_of_two ? "tree" : "ring") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kReduce, 4), ranks == 8 ? "tree" : "star") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kReduceScatter, 256 << 10), ranks == 3 ? "direct" : "halving_doubling");
    EXPECT_EQ(picked(ranks, Collective::kReduceScatter, 1 << 20), "ring") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kScatter, 4096), "tree") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kScatter, 256 << 10), "star") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kAllGather, 4096), power_of_two ? "halving_doubling" : "tree") << ranks;
    EXPECT_EQ(picked(ranks, Collective::kAllGather, 1 << 20), "ring") << ranks;
  }
  EXPECT_EQ(select(built_in_selection(8, Medium::kTcp, {}, 1), Collective::kAllGather, 4096), "recursive_doubling");
  EXPECT_EQ(picked(2, Collective::kAllReduce, 4096), "recursive_doubling") << "one message each way";
  EXPECT_EQ(select(built_in_selection(8, Medium::kTcp, {}, 7), Collective::kAllReduce, 64 << 20), "ring");
  EXPECT_EQ(select(built_in_selection(1 << 14, Medium::kTcp), Collective::kAllReduce, 64 << 20), "ring")
      << "no machine has so many cores";
}

TEST(Selection, ThroughMemoryRanksThatTakeTurnsLeaveMoreToARoot) {
  const auto picked = [](int ranks, int cores, Collective collective, std::uint64_t bytes, MemoryKind memory) {
    return select(built_in_selection(ranks, Medium::kSharedMemory, {}, cores), collective, bytes, memory);
  };
  for (const int cores : {2, 8}) {
    const bool in_turns = cores == 2;
    EXPECT_EQ(picked(8, cores, Collective::kBroadcast, 1 << 20, MemoryKind::kRegistered), in_turns ? "tree" : "direct");
    EXPECT_EQ(picked(8, cores, Collective::kReduce, 64 << 10, MemoryKind::kRegistered), in_turns ? "star" : "direct");
    EXPECT_EQ(picked(8, cores, Collective::kAllReduce, 1040, MemoryKind::kRegistered), in_turns ? "star" : "naive");
    EXPECT_EQ(picked(3, cores, Collective::kAllReduce, 1 << 20, MemoryKind::kRegistered),
              in_turns ? "double_tree" : "direct");
    EXPECT_EQ(picked(3, cores, Collective::kAllReduce, 1 << 20, MemoryKind::kPlain),
              in_turns ? "recursive_doubling" : "direct");
    EXPECT_EQ(picked(3, cores, Collective::kAllGather, 1 << 20, MemoryKind::kPlain), in_turns ? "ring" : "direct");
  }
}

/// As parts of a world do: two ranks are no more than the cores then, and take turns with others.
TEST(Selection, TwoRanksOnCoresThatOthersShareMeetOnceForLonger) {
  const auto picked = [](const GroupCores& cores, std::uint64_t bytes) {
    return select(built_in_selection(2, Medium::kSharedMemory, {}, cores), Collective::kAllReduce, bytes);
  };
  EXPECT_EQ(picked(2, 32 << 10), "direct");
  EXPECT_EQ(picked({2, true}, 32 << 10), "naive");
  EXPECT_EQ(picked({2, true}, 1 << 20), "direct");
  EXPECT_EQ(picked({1, false}, 1 << 20), "star") << "all on one core";
  const auto over_tcp = [](const GroupCores& cores) {
    return select(built_in_selection(2, Medium::kTcp, {}, cores), Collective::kAllReduce, 256 << 10);
  };
  EXPECT_EQ(over_tcp(2), "halving_doubling");
  EXPECT_EQ(over_tcp({2, true}), "recursive_doubling");
  EXPECT_EQ(over_tcp(1), "recursive_doubling");
}

TEST(Selection, SmallBlocksOfRanksThatTakeTurnsGoFirstToTheOtherHalf) {
  for (const Collective collective : {Collective::kScatter, Collective::kGather}) {
    const auto picked = [&](int ranks, int cores, std::uint64_t bytes, MemoryKind memory) {
      return select(built_in_selection(ranks, Medium::kSharedMemory, {}, cores), collective, bytes, memory);
    };
    for (const int ranks : {4, 6, 8}) {
      EXPECT_EQ(picked(ranks, 2, 4096, MemoryKind::kRegistered), "tree") << ranks;
      EXPECT_EQ(picked(ranks, 2, 256 << 10, MemoryKind::kRegistered), "star") << ranks;
      EXPECT_EQ(picked(ranks, 2, 4096, MemoryKind::kPlain), "star") << ranks << ": a tree stages blocks twice";
    }
    EXPECT_EQ(picked(3, 2, 4096, MemoryKind::kRegistered), "star") << "two on one core and one on the other";
    EXPECT_EQ(picked(8, 8, 4096, MemoryKind::kRegistered), "star") << "a core each";
    EXPECT_EQ(picked(8, 1, 4096, MemoryKind::kRegistered), "star") << "no other core";
    EXPECT_EQ(picked(8, 3, 4096, MemoryKind::kRegistered), "star") << "a core in both halves";
  }
}

TEST(Selection, AReduceOfPlainMemoryCrossesAsLittleAsItCan) {
  const auto picked = [](int ranks, int cores, std::uint64_t bytes) {
    const Selection selection = built_in_selection(ranks, Medium::kSharedMemory, {}, cores);
    return select(selection, Collective::kReduce, bytes, MemoryKind::kPlain);
  };
  const std::uint64_t large = std::uint64_t{16} << 20U;
  for (const std::uint64_t bytes : {std::uint64_t{64} << 10U, large}) {
    EXPECT_EQ(picked(2, 2, bytes), "star");
    EXPECT_EQ(picked(3, 2, bytes), bytes == large ? "double_tree" : "star") << "one other core's, or much to sum";
    EXPECT_EQ(picked(4, 2, bytes), "tree");
    EXPECT_EQ(picked(8, 2, bytes), "tree");
    EXPECT_EQ(picked(6, 2, bytes), "double_tree");
    EXPECT_EQ(picked(4, 4, bytes), "double_tree") << "a core each";
    EXPECT_EQ(picked(4, 3, bytes), "double_tree") << "two on one core, and one on each other";
    for (const int ranks : {3, 4, 6, 8}) EXPECT_EQ(picked(ranks, 1, bytes), "star") << "nothing crosses";
  }
  EXPECT_EQ(picked(8, 2, 1024), "star");
}

TEST(Selection, FourRanksThatTakeTurnsExchangeBlocksInPairsBetweenSmallAndLarge) {
  const auto picked = [](int ranks, int cores, std::uint64_t bytes, MemoryKind memory = MemoryKind::kRegistered) {
    const Selection selection = built_in_selection(ranks, Medium::kSharedMemory, {}, cores);
    return select(selection, Collective::kAllToAll, bytes, memory);
  };
  for (const int cores : {1, 2}) {
    EXPECT_EQ(picked(4, cores, 64 << 10), "pairwise");
    EXPECT_EQ(picked(4, cores, 64 << 10, MemoryKind::kPlain), "pairwise");
    EXPECT_EQ(picked(4, cores, 1024), "direct");
    EXPECT_EQ(picked(4, cores, 4 << 20), "direct");
    EXPECT_EQ(picked(3, cores, 64 << 10), "direct");
    EXPECT_EQ(picked(8, cores, 64 << 10), "direct");
  }
  EXPECT_EQ(picked(4, 4, 64 << 10), "direct") << "a core each";
}

TEST(Selection, EveryCollectiveHasOneBuiltIn) {
  for (const Collective collective : kCollectives) {
    if (algorithms_for(collective).empty()) continue;
    for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
      for (const int ranks : {1, 2, 8, 100, 100'000}) {
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{1} << 30}) {
          const std::string name = select(built_in_selection(ranks, medium), collective, bytes);
          EXPECT_TRUE(find_algorithm(name).supports(collective)) << name;
        }
      }
    }
  }
}

}  // namespace lockstep
