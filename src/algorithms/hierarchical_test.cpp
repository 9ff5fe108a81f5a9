#include "algorithms/catalog.h"
#include "algorithms/finishing_for_tests.h"
#include "algorithms/refusal_for_tests.h"
#include "algorithms/shape_for_tests.h"
#include "base/collective.h"
#include "base/error_for_tests.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/proof.h"
#include "schedule/relabelled.h"
#include "schedule/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

using testing::HasSubstr;
using testing_support::refusal;
using testing_support::refuses;

Schedule compose(const std::string& parts, std::vector<int> hosts, Collective collective = Collective::kAllReduce,
                 int root = 0) {
  const int ranks = static_cast<int>(hosts.size());
  return find_algorithm("hierarchical:" + parts)
      .build({.collective = collective, .ranks = ranks, .root = root, .hosts = std::move(hosts)});
}

/// Those that do all_reduces, of which compositions are made.
std::vector<std::string> parts_for(Collective collective) {
  std::vector<std::string> names;
  for (const std::string_view name : algorithms_for(collective)) {
    if (find_algorithm(name).supports(Collective::kAllReduce)) names.emplace_back(name);
  }
  return names;
}

/// What is done by one algorithm after the other.
constexpr Collective kInStages[] = {Collective::kReduceScatter, Collective::kAllGather, Collective::kBroadcast,
                                    Collective::kReduce};

/// Chunks that cross from host to host, as parts of a buffer.
double crossing(const Schedule& schedule, const std::vector<int>& hosts) {
  int chunks = 0;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      chunks += hosts[static_cast<std::size_t>(transfer.from)] != hosts[static_cast<std::size_t>(transfer.to)] ? 1 : 0;
    }
  }
  return static_cast<double>(chunks) / schedule.chunks;
}

/// Hosts alike, of different sizes, of one rank, and with ranks that are no neighbours.
const std::vector<std::vector<int>> kHosts{{0, 0, 1, 1},          {0, 0, 0, 1, 1, 1, 2, 2, 2},
                                           {0, 0, 0, 1, 1},       {0, 1, 1, 1, 2, 2},
                                           {0, 1, 0, 1, 2, 2, 0}, {0, 1, 2},
                                           {5, 5, 5, 5, 5, 5, 5}, {0}};

}  // namespace

TEST(Hierarchical, ComposesAnyTwoAlgorithmsOnAnyHosts) {
  for (const auto local : algorithms_for(Collective::kAllReduce)) {
    for (const auto global : algorithms_for(Collective::kAllReduce)) {
      for (const std::vector<int>& hosts : kHosts) {
        const Schedule schedule = compose(std::string(local) + "," + std::string(global), hosts);
        const Proof proof = prove(schedule);
        ASSERT_TRUE(proof.proved()) << schedule.name << " on " << testing::PrintToString(hosts) << ": "
                                    << describe(*proof.refusal);
        EXPECT_TRUE(concrete::delivers(schedule)) << schedule.name;
      }
    }
  }
}

TEST(Hierarchical, IsTheGlobalAlgorithmBetweenHostsWithOneBufferAHost) {
  const std::vector<int> hosts{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  const Schedule schedule = compose("direct,ring", hosts);
  EXPECT_EQ(schedule.name, "hierarchical:direct,ring");
  EXPECT_EQ(schedule.chunks, 4 * 3);
  EXPECT_EQ(schedule.steps.size(), 1U + 2U * 2U + 1U);
  EXPECT_DOUBLE_EQ(crossing(schedule, hosts), 2 * (3 - 1)) << "2 (H - 1) buffers";
  EXPECT_GT(crossing(shape::build("direct", 12), hosts), 15) << "flat, nearly all of it crosses";
}

TEST(Hierarchical, OnOneHostIsTheLocalAlgorithmAndOnHostsOfOneTheGlobal) {
  EXPECT_EQ(compose("tree,ring", {0, 0, 0, 0, 0}).steps, shape::build("tree", 5).steps);
  EXPECT_EQ(compose("tree,ring", {0, 1, 2, 3, 4}).steps, shape::build("ring", 5).steps);
  EXPECT_EQ(find_algorithm("hierarchical:tree,ring").build({.ranks = 5}).steps, shape::build("tree", 5).steps);
}

TEST(Hierarchical, OfThoseWhoSumTheSameOnAHostOneDoes) {
  const Schedule schedule = compose("naive,direct", {0, 0, 0, 1, 1, 1});
  EXPECT_EQ(schedule.steps[0], (Step{{TransferKind::kReduce, 0, 1, 0},
                                     {TransferKind::kReduce, 1, 1, 0},
                                     {TransferKind::kReduce, 0, 2, 0},
                                     {TransferKind::kReduce, 1, 2, 0},
                                     {TransferKind::kReduce, 0, 4, 3},
                                     {TransferKind::kReduce, 1, 4, 3},
                                     {TransferKind::kReduce, 0, 5, 3},
                                     {TransferKind::kReduce, 1, 5, 3}}));
  EXPECT_EQ(schedule.steps.size(), 1U + 2U + 1U) << "sums, direct between 0 and 3, copies";
}

TEST(Hierarchical, IsCanonicalWhereBothPartsAndTheHostsAre) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce}) {
    EXPECT_TRUE(prove(compose("direct,direct", {0, 0, 0, 0, 1, 1, 1, 1}, collective)).canonical);
    EXPECT_FALSE(prove(compose("direct,direct", {0, 0, 0, 1, 1, 1}, collective)).canonical);
  }
}

TEST(Hierarchical, DoesWhatBothPartsDo) {
  using enum Collective;
  EXPECT_EQ(find_algorithm("hierarchical:ring,direct").collectives,
            (std::vector{kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kBarrier}));
  EXPECT_EQ(find_algorithm("hierarchical:star,tree").collectives,
            (std::vector{kAllReduce, kBroadcast, kReduce, kBarrier}))
      << "gather and scatter are not composed";
  EXPECT_EQ(find_algorithm("hierarchical:naive,tree").collectives, (std::vector{kAllReduce, kBarrier}));
}

TEST(Hierarchical, InStagesComposesAnyTwoThatDoItOnAnyHostsFromAnyRoot) {
  for (const Collective collective : kInStages) {
    for (const std::string& local : parts_for(collective)) {
      for (const std::string& global : parts_for(collective)) {
        for (const std::vector<int>& hosts : kHosts) {
          const int roots = has_root(collective) ? static_cast<int>(hosts.size()) : 1;
          for (int root = 0; root < roots; ++root) {
            const Schedule schedule = compose(local + "," + global, hosts, collective, root);
            const Proof proof = prove(schedule);
            ASSERT_TRUE(proof.proved()) << schedule.name << " on " << testing::PrintToString(hosts) << " from " << root
                                        << ": " << describe(*proof.refusal);
            EXPECT_TRUE(concrete::delivers(schedule)) << schedule.name << " from " << root;
            const bool sums = sums_values(collective) && hosts.size() > 1;
            EXPECT_TRUE(!sums || finishes_once(schedule)) << schedule.name << " from " << root;
          }
        }
      }
    }
  }
}

TEST(Hierarchical, InStagesEachHostSendsOrHearsOneBufferAtMost) {
  const std::vector<int> hosts{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  const std::vector<int> by_turns{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
  for (const std::vector<int>& layout : {hosts, by_turns}) {
    for (const Collective collective : kInStages) {
      EXPECT_DOUBLE_EQ(crossing(compose("direct,ring", layout, collective), layout), 3 - 1)
          << to_string(collective) << ": H - 1 buffers";
    }
  }
  const Schedule scattered = compose("direct,ring", hosts, Collective::kReduceScatter);
  EXPECT_EQ(scattered.chunks, 12);
  EXPECT_EQ(scattered.steps.size(), 1U + 2U);
  const Schedule flat = find_algorithm("direct").build({.collective = Collective::kReduceScatter, .ranks = 12});
  EXPECT_DOUBLE_EQ(crossing(flat, hosts), 8) << "each rank's two thirds";
}

TEST(Hierarchical, InStagesOnOneHostIsTheLocalAlgorithmAndOnHostsOfOneTheGlobal) {
  for (const Collective collective : kInStages) {
    const auto alone = [&](const char* name) {
      return find_algorithm(name).build({.collective = collective, .ranks = 5, .root = has_root(collective) ? 3 : 0});
    };
    EXPECT_EQ(compose("direct,ring", {0, 0, 0, 0, 0}, collective, 3).steps, alone("direct").steps);
    EXPECT_EQ(compose("direct,ring", {0, 1, 2, 3, 4}, collective, 3).steps, alone("ring").steps);
  }
}

TEST(Hierarchical, ARanksOwnPartHasTheSameViewAsTheWhole) {
  const std::vector<int> hosts{0, 0, 0, 1, 1};
  const Schedule whole = compose("ring,recursive_doubling", hosts);
  for (int rank = 0; rank < 5; ++rank) {
    const Schedule part = find_algorithm(whole.name).build({.ranks = 5, .only_rank = rank, .hosts = hosts});
    EXPECT_EQ(view_of(whole, rank), view_of(part, rank));
  }
  for (const Collective collective : kInStages) {
    const Schedule staged = compose("ring,direct", hosts, collective);
    for (int rank = 0; rank < 5; ++rank) {
      const Schedule part =
          find_algorithm(staged.name)
              .build({.collective = staged.collective, .ranks = 5, .only_rank = rank, .hosts = hosts});
      EXPECT_EQ(view_of(staged, rank), view_of(part, rank)) << to_string(collective);
    }
  }
}

TEST(Hierarchical, RefusesWhatCannotBeComposed) {
  EXPECT_THAT(refusal("hierarchical"), HasSubstr("takes two algorithms"));
  EXPECT_THAT(refusal("hierarchical:ring"), HasSubstr("as in: hierarchical:direct,ring"));
  EXPECT_THAT(refusal("hierarchical:ring,rign"), HasSubstr("Did you mean 'ring'?"));
  EXPECT_THAT(refusal("hierarchical:ring,pairwise"), HasSubstr("do an all_reduce, which 'pairwise' does not"));
  for (const char* nested : {"hierarchical:ring,hierarchical:tree,star", "hierarchical:hierarchical:ring,ring,tree",
                             "hierarchical:hierarchical,tree"}) {
    EXPECT_THAT(refusal(nested), HasSubstr("is a composition itself; name one of: naive, ")) << nested;
  }
  EXPECT_THAT(
      [] {
        (void)find_algorithm("hierarchical:ring,tree").build({.ranks = 3, .hosts = {0, 1}});
      },
      refuses(ErrorCode::kInvalidArgument,
              "The hosts of 2 ranks are given, of 3 that there are; give each rank's, or none."));
  EXPECT_THAT([] { (void)find_algorithm("hierarchical:ring,tree").build({.ranks = 0}); },
              refuses(ErrorCode::kInvalidArgument, "cannot be built: it needs at least one rank"));
}

TEST(Hierarchical, RefusesHostsOfSoManySizesThatNoChunksFit) {
  std::vector<int> hosts;
  for (const int size : {11, 13, 16, 17, 19, 23}) hosts.insert(hosts.end(), static_cast<std::size_t>(size), size);
  EXPECT_THAT([&] { (void)compose("ring,tree", hosts); },
              refuses(ErrorCode::kInvalidArgument,
                      "The hosts have so many different numbers of ranks that no chunks fit them all; use as many"));
  hosts.clear();  // 32,736 chunks on 96 ranks
  for (const int size : {31, 32, 33}) hosts.insert(hosts.end(), static_cast<std::size_t>(size), size);
  EXPECT_THAT([&] { (void)compose("ring,tree", hosts); },
              refuses(ErrorCode::kInvalidArgument, "The hosts have so many different numbers of ranks"));
}

/// Over a network a rank builds its own part, of hosts one of which has a rank less, too.
TEST(Hierarchical, OneRanksViewMayHaveMoreChunksThanAWholeSchedule) {
  std::vector<int> hosts = hosts_of_neighbours(399, 8);
  ScheduleRequest request{.ranks = 399, .hosts = hosts};
  const Algorithm algorithm = find_algorithm("hierarchical:circulant,circulant");
  EXPECT_THROW((void)algorithm.build(request), Error);
  request.only_rank = 398;
  EXPECT_EQ(algorithm.build(request).chunks, 7 * 8 * 50);
}

TEST(Hierarchical, OnHostsAlikeMayHaveMoreChunksThanAreProved) {
  const Algorithm algorithm = find_algorithm("hierarchical:bidirectional_ring,bidirectional_ring");
  const Schedule part = algorithm.build({.ranks = 600, .only_rank = 7, .hosts = hosts_of_neighbours(600, 8)});
  EXPECT_EQ(part.chunks, 4 * 600);
}

}  // namespace lockstep
