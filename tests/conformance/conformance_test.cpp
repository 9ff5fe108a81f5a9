// What every group promises, on every kind of world: each algorithm, data type, operator, size and kind of memory.
#include "tests/conformance/cases.h"
#include "tests/conformance/member_memory.h"
#include "tests/conformance/on_every_setting.h"
#include "tests/conformance/shared_array.h"

#include <gtest/gtest.h>

#include <atomic>

namespace lockstep::conformance {

namespace {

class Conformance : public OnEverySetting {
 protected:
  static void expect_conforming(const Facts& facts) {
    std::vector<Case> cases = small_cases(facts, GetParam().ranks, has_registered());
    const std::vector<Case> large = large_cases(facts, GetParam().ranks, has_registered());
    cases.insert(cases.end(), large.begin(), large.end());
    const Inputs inputs(GetParam().ranks);
    run_world(GetParam(), [&](Member& member) {
      MemberMemory memory(member.world, cases);
      for (const Case& one : cases) {
        Trial trial(member.world, inputs, one, memory.of(one));
        trial.start();
        trial.finish();
      }
    });
  }
};
LOCKSTEP_ON_EVERY_SETTING(Conformance);

}  // namespace

TEST_P(Conformance, AllReduce) { expect_conforming(facts_of(Collective::kAllReduce)); }
TEST_P(Conformance, ReduceScatter) { expect_conforming(facts_of(Collective::kReduceScatter)); }
TEST_P(Conformance, Reduce) { expect_conforming(facts_of(Collective::kReduce)); }

/// Of those that move contributions as they are.
TEST_P(Conformance, Copies) {
  for (const Facts& facts : all_facts()) {
    if (!facts.sums() && facts.collective != Collective::kBarrier) expect_conforming(facts);
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

/// Whatever the ranks bring, and however it is rounded on the way.
TEST_P(Conformance, EveryRankGetsTheSameBytes) {
  const int ranks = GetParam().ranks;
  std::vector<Case> cases = small_cases(facts_of(Collective::kAllReduce), ranks, has_registered());
  std::erase_if(cases, [](const Case& one) { return !shows_order(one); });
  for (Case& one : cases) one.values = Values::kAnyBits;
  const Inputs inputs(ranks);
  const SharedArray<std::uint64_t> digests(cases.size() * static_cast<std::size_t>(ranks));
  run_world(GetParam(), [&](Member& member) {
    MemberMemory memory(member.world, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Trial trial(member.world, inputs, cases[i], memory.of(cases[i]));
      trial.start();
      trial.finish();
      digests[i * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(member.world.rank())] = trial.digest();
    }
  });
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const std::size_t first = i / static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
    ASSERT_EQ(digests[i], digests[first])
        << "rank " << i - first << " and rank 0: " << cases[i / static_cast<std::size_t>(ranks)];
  }
}

}  // namespace lockstep::conformance
