// What every group promises, on every kind of world: each algorithm, data type, operator, size and kind of memory;
// where buffers span several segments, operators and roots take turns.
#include "tests/conformance/cases.h"
#include "tests/conformance/on_every_setting.h"
#include "tests/conformance/shared_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <tuple>

namespace lockstep::conformance {

namespace {

class Conformance : public OnEverySetting {
 protected:
  static void expect_conforming_in(const Facts& facts) {
    expect_conforming(all_cases(facts, GetParam().ranks, has_registered()));
  }
};
LOCKSTEP_ON_EVERY_SETTING(Conformance);

}  // namespace

/// What cases.h says of operators that take turns.
TEST(ConformanceCases, LargeOnesMeetEveryOperatorInEveryKindOfMemory) {
  const Facts& facts = facts_of(Collective::kAllReduce);
  std::set<std::tuple<std::string, DataType, ReduceOp, bool>> over_all_ranks;
  for (const int ranks : {2, 3, 4, 5, 8}) {
    std::set<std::tuple<std::string, ReduceOp, bool>> operators;
    std::set<std::tuple<std::string, DataType, bool>> types;
    for (const Case& one : large_cases(facts, ranks, /*has_registered=*/true)) {
      operators.emplace(one.algorithm, one.op, one.registered);
      types.emplace(one.algorithm, one.dtype, one.registered);
      over_all_ranks.emplace(one.algorithm, one.dtype, one.op, one.registered);
    }
    const std::size_t algorithms = names_for(facts.collective).size();
    EXPECT_EQ(operators.size(), algorithms * kReduceOps.size() * 2) << ranks;
    EXPECT_EQ(types.size(), algorithms * kDataTypes.size() * 2) << ranks;
  }
  EXPECT_EQ(over_all_ranks.size(), names_for(facts.collective).size() * kDataTypes.size() * kReduceOps.size() * 2);
}

TEST_P(Conformance, AllReduce) { expect_conforming_in(facts_of(Collective::kAllReduce)); }
TEST_P(Conformance, ReduceScatter) { expect_conforming_in(facts_of(Collective::kReduceScatter)); }
TEST_P(Conformance, Reduce) { expect_conforming_in(facts_of(Collective::kReduce)); }

/// Of those that move contributions as they are.
TEST_P(Conformance, Copies) {
  for (const Facts& facts : all_facts()) {
    if (!facts.sums() && facts.collective != Collective::kBarrier) expect_conforming_in(facts);
  }
}

/// Of which names_for() has no pipeline, as of all_to_all, which all_to_all_v_test.cpp runs as one. Blocks are of one
/// size and of many by turns.
TEST_P(Conformance, PipelinesOfGathersAndScatters) {
  for (const Collective collective : {Collective::kGather, Collective::kScatter}) {
    std::vector<Case> cases = large_cases(facts_of(collective), GetParam().ranks, has_registered());
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [](const Case& one) { return one.by_counts; }));
    for (Case& one : cases) one.algorithm = "segmented:3:" + one.algorithm;
    expect_conforming(cases);
  }
}

TEST_P(Conformance, TheSameAgainWithOtherValues) {
  for (const Facts& facts : all_facts()) {
    if (facts.collective != Collective::kBarrier) expect_conforming(repeated_cases(facts, GetParam().ranks));
  }
}

/// Nobody leaves before everybody has entered.
TEST_P(Conformance, Barrier) {
  constexpr int kRounds = 20;
  const std::vector<std::string> names = names_for(Collective::kBarrier);
  const SharedArray<std::atomic<int>> entered(1);
  run_world(GetParam(), [&](Member& member) {
    int rounds = 0;
    for (const std::string& name : names) {
      for (int i = 0; i < kRounds; ++i) {
        ++entered[0];
        ++rounds;
        member.world.barrier({.algorithm = name}).wait();
        ASSERT_GE(entered[0], rounds * member.world.size()) << name;
      }
    }
  });
}

TEST_P(Conformance, EveryRankGetsTheSameBytes) {
  expect_same_bytes(rounding_cases(GetParam().ranks, has_registered()));
}

}  // namespace lockstep::conformance
