// The catalogue against the proof.
#include "schedule/proof.h"

#include "algorithms/every_request_for_tests.h"
#include "algorithms/finishing_for_tests.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/segmented.h"
#include "schedule/view.h"

#include <gmock/gmock.h>

#include <bit>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

namespace {

using ::testing::TestWithParam;
using ::testing::ValuesIn;

void expect_proved(const Schedule& schedule) {
  const Proof proof = prove(schedule);
  ASSERT_TRUE(proof.proved()) << describe(*proof.refusal);
}

/// Of so many ranks: hosts of 2, 3 and 4 neighbours of which the last may have fewer, one of most and one of few, and
/// ranks dealt to hosts in turn.
std::vector<std::vector<int>> layouts_of(int ranks) {
  std::vector<std::vector<int>> layouts(5);
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int size : {2, 3, 4}) layouts[static_cast<std::size_t>(size - 2)].push_back(rank / size);
    layouts[3].push_back(rank < 2 * ranks / 3 ? 0 : 1);
    layouts[4].push_back(rank % 3);
  }
  return layouts;
}

class ProofOfComposed : public TestWithParam<std::string_view> {};

class ProofOf : public TestWithParam<std::string> {
 protected:
  const Algorithm algorithm_ = find_algorithm(GetParam());
};

}  // namespace

TEST_P(ProofOf, HoldsForEveryCollectiveNumberOfRanksAndRootIn1To3Segments) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for_each_request_of(algorithm_, ranks, [&](const ScheduleRequest& request) {
      const Schedule schedule = algorithm_.build(request);
      for (const int segments : {1, 2, 3}) expect_proved(segmented(schedule, segments));
    });
  }
}

TEST_P(ProofOf, HoldsForMoreRanks) {
  for (const int ranks : {24, 33, 64}) {
    for_each_request_of(algorithm_, ranks, [&](const ScheduleRequest& request) {
      if (request.root != 0 && request.root != ranks / 2 && request.root != ranks - 1) return;
      const Schedule schedule = algorithm_.build(request);
      for (const int segments : {1, 3}) expect_proved(segmented(schedule, segments));
    });
  }
}

TEST_P(ProofOf, SaysOfTheBitsWhatNumbersSay) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for_each_request_of(algorithm_, ranks, [&](const ScheduleRequest& request) {
      const Schedule schedule = algorithm_.build(request);
      const concrete::Bits bits = concrete::bits_of(schedule);
      EXPECT_TRUE(bits.equal_on_all_ranks);
      const Proof proof = prove(schedule);
      EXPECT_EQ(proof.canonical, bits.canonical);
      EXPECT_EQ(proof.canonical_in_16_bits, bits.canonical_in_16_bits);
    });
  }
}

TEST_P(ProofOf, ViewsAgreePairByPair) {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    for_each_request_of(algorithm_, ranks, [&](const ScheduleRequest& request) {
      const Schedule schedule = algorithm_.build(request);
      const auto views = views_of(schedule);
      for (const RankView& a : views) {
        EXPECT_EQ(a, view_of(schedule, a.rank));
        for (const RankView& b : views) EXPECT_EQ(first_disagreement(a, b), std::nullopt);
      }
    });
  }
}

TEST_P(ProofOf, ViewsFinishEachPromisedChunkOnce) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for_each_request_of(algorithm_, ranks, [&](const ScheduleRequest& request) {
      if (!is_reduction(request.collective)) return;
      const Schedule schedule = algorithm_.build(request);
      for (const int segments : {1, 2}) EXPECT_TRUE(finishes_once(segmented(schedule, segments)));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ProofOf, ValuesIn(names_of_algorithms()), test_name);

TEST_P(ProofOfComposed, HoldsWithEveryOtherOnEveryLayoutIn1To3Segments) {
  for (const std::string_view global : algorithms_for(Collective::kAllReduce)) {
    const Algorithm composed = find_algorithm("hierarchical:" + std::string(GetParam()) + "," + std::string(global));
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (const std::vector<int>& hosts : layouts_of(ranks)) {
        SCOPED_TRACE(composed.name + " on " + ::testing::PrintToString(hosts));
        const Schedule schedule = composed.build({.ranks = ranks, .hosts = hosts});
        for (const int segments : {1, 2, 3}) expect_proved(segmented(schedule, segments));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Locals, ProofOfComposed, ValuesIn(algorithms_for(Collective::kAllReduce)),
                         [](const auto& local) { return std::string(local.param); });

TEST(ProofOfTheCatalogue, SaysWhoIsCanonical) {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    const auto is_canonical = [&](const char* name) {
      return prove(find_algorithm(name).build({.ranks = ranks})).canonical;
    };
    for (const char* name : {"naive", "star", "direct", "tree"}) EXPECT_TRUE(is_canonical(name)) << name << ranks;
    const bool is_power = std::has_single_bit(static_cast<unsigned>(ranks));
    for (const char* name : {"recursive_doubling", "halving_doubling"}) {
      if (is_power) {
        EXPECT_TRUE(is_canonical(name)) << name << ranks;
      }
    }
    for (const char* name : {"ring", "circulant"}) EXPECT_EQ(is_canonical(name), ranks <= 2) << name << ranks;
  }
}

TEST(ProofOfTheCatalogue, TheTreeSumsInPairs) {
  const Proof proof = prove(find_algorithm("tree").build({.ranks = 8}));
  ASSERT_EQ(proof.orders.size(), 1U);
  EXPECT_EQ(proof.orders[0].expression, "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

TEST(ProofOfTheCatalogue, TheRingSumsEachChunkFromAnotherRankOn) {
  const Proof proof = prove(find_algorithm("ring").build({.ranks = 4}));
  ASSERT_EQ(proof.orders.size(), 4U);
  EXPECT_EQ(proof.orders[0].expression, "(0+((1+2)+3))");
}

}  // namespace lockstep
