// Ranks on several hosts, pretended, on every kind of world: what they know of each other, which schedules run, and
// that results are right.
#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/on_every_setting.h"
#include "tests/conformance/shared_array.h"
#include "tests/conformance/transfer_hash.h"
#include "transport/tcp/hmac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::conformance {

namespace {

class Hosts : public OnEverySetting {};
INSTANTIATE_TEST_SUITE_P(On, Hosts, testing::ValuesIn(every_setting_on_hosts()), testing::PrintToStringParamName());

/// Whether its schedule is another where neighbours are on two hosts by turns.
bool follows_hosts(const std::string& name, Collective collective) {
  ScheduleRequest request{.collective = collective, .ranks = 4};
  const Schedule on_one = find_algorithm(name).build(request);
  request.hosts = {0, 1, 0, 1};
  return find_algorithm(name).build(request) != on_one;
}

/// The algorithms that a placement changes, and some that it does not.
std::vector<std::string> names_to_try(Collective collective) {
  std::vector<std::string> names = names_for(collective);
  std::erase_if(names, [&](const std::string& name) { return name != "direct" && !follows_hosts(name, collective); });
  names.emplace_back("auto");
  return names;
}

bool has_composition(std::string_view local, std::string_view global, Collective collective) {
  const auto is_part = [](std::string_view name) { return find_algorithm(name).supports(Collective::kAllReduce); };
  return is_part(local) && is_part(global) &&
         find_algorithm("hierarchical:" + std::string(local) + "," + std::string(global)).supports(collective);
}

/// Of the cases, those by these algorithms.
std::vector<Case> of_those_to_try(const std::vector<Case>& cases) {
  if (cases.empty()) return {};
  const std::vector<std::string> names = names_to_try(cases.front().collective);
  std::vector<Case> tried;
  for (const Case& one : cases) {
    if (std::find(names.begin(), names.end(), one.algorithm) == names.end()) continue;
    tried.push_back(one);
    if (one.algorithm != "direct") continue;
    tried.push_back(one);
    tried.back().algorithm = "auto";
  }
  return tried;
}

}  // namespace

TEST_P(Hosts, EveryRankKnowsWhereAllAre) {
  run_world(GetParam(), [](Member& member) { EXPECT_EQ(member.world.hosts(), GetParam().hosts); });
}

/// Of what sums and of what copies, from whichever root.
TEST_P(Hosts, WhatRunsIsTheScheduleOfThePlacement) {
  constexpr std::size_t kCount = 600;
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
                                      Collective::kBroadcast, Collective::kReduce}) {
    const std::vector<std::string> names = names_to_try(collective);
    const SharedArray<std::atomic<std::uint64_t>> recorded(names.size());
    const SharedArray<std::uint64_t> planned(names.size());
    run_world(GetParam(), [&](Member& member) {
      const World& world = member.world;
      const Facts& facts = facts_of(collective);
      Case one{.collective = collective, .root = world.size() - 1, .blocks = {}};
      std::vector<float> values(kCount);
      for (std::size_t i = 0; i < names.size(); ++i) {
        member.state.record_transfers(
            [&](const ExecutedTransfer& done) { recorded[i] += hash_of(done.step, done.transfer); });
        facts.start(world, one, values.data(), buffer_of(values), {.algorithm = names[i]}).wait();
        if (world.rank() > 0) continue;
        const std::string name = world.algorithm_for(collective, kCount * sizeof(float), {.algorithm = names[i]},
                                                     DataType::kFloat32, /*registered=*/false);
        planned[i] = hash_of(find_algorithm(name).build(
            {.collective = collective, .ranks = world.size(), .root = one.root, .hosts = GetParam().hosts}));
      }
    });
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(recorded[i], planned[i]) << names[i] << " " << to_string(collective);
    }
  }
}

/// What a placement changes, in types that are summed in themselves, in another, and exactly.
TEST_P(Hosts, ResultsAreTheOracles) {
  std::vector<Case> cases;
  for (const Facts& facts : all_facts()) {
    if (facts.collective == Collective::kBarrier) continue;
    for (const Case& one : of_those_to_try(all_cases(facts, GetParam().ranks, has_registered()))) {
      const bool mixes = one.op == ReduceOp::kSum || one.op == ReduceOp::kMean;
      const bool floats = one.dtype == DataType::kFloat32 || one.dtype == DataType::kBFloat16;
      if (floats ? mixes : one.dtype == DataType::kInt32) cases.push_back(one);
    }
  }
  ASSERT_GT(cases.size(), 100U);
  expect_conforming(cases);
}

TEST_P(Hosts, EveryRankGetsTheSameBytes) {
  expect_same_bytes(of_those_to_try(rounding_cases(GetParam().ranks, has_registered())));
}

/// Not some of them: all, where hosts are alike and where they are not.
TEST_P(Hosts, EveryCompositionSumsRight) {
  const Facts& facts = facts_of(Collective::kAllReduce);
  std::vector<Case> cases;
  for (const std::string_view local : algorithms_for(Collective::kAllReduce)) {
    for (const std::string_view global : algorithms_for(Collective::kAllReduce)) {
      for (const std::size_t count : {1U, 97U, 1025U, 40'000U}) {
        cases.push_back({.algorithm = "hierarchical:" + std::string(local) + "," + std::string(global),
                         .dtype = count % 2 == 0 ? DataType::kInt32 : DataType::kFloat32,
                         .blocks = even_blocks(facts, GetParam().ranks, count)});
      }
    }
  }
  ASSERT_EQ(cases.size(), 4U * 11 * 11);
  expect_conforming(cases);
}

/// Of other collectives too, from all roots in turn, in blocks of one size and of many.
TEST_P(Hosts, EveryCompositionInStagesIsRight) {
  const int ranks = GetParam().ranks;
  std::vector<Case> cases;
  for (const Facts& facts : all_facts()) {
    if (facts.collective == Collective::kAllReduce || facts.collective == Collective::kBarrier) continue;
    for (const std::string_view local : algorithms_for(facts.collective)) {
      for (const std::string_view global : algorithms_for(facts.collective)) {
        const std::string name = "hierarchical:" + std::string(local) + "," + std::string(global);
        if (!has_composition(local, global, facts.collective)) continue;
        for (const std::size_t count : {97U, 20'000U}) {
          const bool by_counts = facts.takes_counts && cases.size() % 4 > 1;
          cases.push_back({.collective = facts.collective,
                           .algorithm = name,
                           .dtype = count % 2 == 0 ? DataType::kInt32 : DataType::kFloat32,
                           .op = facts.sums() && cases.size() % 8 > 3 ? ReduceOp::kMean : ReduceOp::kSum,
                           .root = static_cast<int>(cases.size()) % ranks,
                           .blocks = by_counts ? uneven_blocks(ranks, count) : even_blocks(facts, ranks, count),
                           .by_counts = by_counts,
                           .values = facts.sums() ? Values::kExact : Values::kAnyBits});
        }
      }
    }
  }
  ASSERT_EQ(cases.size(), 2U * (7 * 7 + 8 * 8 + 6 * 6 + 5 * 5)) << "reduce_scatter, all_gather, broadcast and reduce";
  expect_conforming(cases);
}

/// Some that share hosts are composed, whatever there are on each.
TEST_P(Hosts, AutoKnowsThem) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const std::vector<int>& hosts = GetParam().hosts;
    const auto number = static_cast<int>(std::set<int>(hosts.begin(), hosts.end()).size());
    const std::string name = world.algorithm_for(Collective::kAllReduce, 1024);
    const std::string between = number == 2 ? "recursive_doubling" : "naive";
    if (number == world.size()) {
      EXPECT_EQ(name, between);
    } else if (number > 1) {
      EXPECT_EQ(name, "hierarchical:recursive_doubling," + between);
    } else {
      EXPECT_EQ(name.find(':'), std::string::npos) << "all on one";
    }
  });
}

TEST_P(Hosts, PartsKnowTheirs) {
  if (GetParam().medium == Medium::kTcp && !tcp::hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const std::vector<int> hosts = world.hosts();
    const auto rank = static_cast<std::size_t>(world.rank());
    const Group here = world.split(hosts[rank]);
    EXPECT_THAT(here.hosts(), testing::Each(0)) << "of one host";
    EXPECT_EQ(here.size(), std::count(hosts.begin(), hosts.end(), hosts[rank]));

    const Group backwards = world.split(0, -world.rank());
    const std::vector<int> theirs = backwards.hosts();
    for (int place = 0; place < world.size(); ++place) {
      const auto member_of = static_cast<std::size_t>(backwards.world_ranks()[static_cast<std::size_t>(place)]);
      EXPECT_EQ(theirs[static_cast<std::size_t>(place)] == theirs[0], hosts[member_of] == hosts.back());
    }
    std::vector<std::int64_t> values(100, world.rank());
    backwards.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "hierarchical:direct,ring"}).wait();
    EXPECT_THAT(values, testing::Each(world.size() * (world.size() - 1) / 2));
  });
}

}  // namespace lockstep::conformance
