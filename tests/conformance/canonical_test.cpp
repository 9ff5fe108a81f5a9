// Canonical reductions: the bits are those of the one tree, whatever runs, where, and in how many pieces.
#include "algorithms/catalog.h"
#include "schedule/segmented.h"
#include "schedule/text.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/member_memory.h"
#include "tests/conformance/on_every_setting.h"
#include "tests/conformance/shared_array.h"
#include "tests/conformance/transfer_hash.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <tuple>
#include <utility>

namespace lockstep::conformance {

namespace {

class CanonicalConformance : public OnEverySetting {
 protected:
  /// Runs the canonical reductions among the cases that are admitted. Returns how many ran on rank 0.
  static int run(const std::vector<Case>& cases) {
    const Inputs inputs(GetParam().ranks);
    const SharedArray<std::atomic<int>> ran(1);
    run_world(GetParam(), [&](Member& member) {
      MemberMemory memory(member.world, cases);
      for (const Case& one : cases) {
        Trial trial(member.world, inputs, one, memory.of(one));
        if (!trial.start_if_admitted()) continue;
        trial.finish();
        if (member.world.rank() == 0) ++ran[0];
      }
    });
    return ran[0];
  }

  /// Whether the case is admitted for certain: direct brings all contributions to one place, and two hosts of two
  /// neighbours sum pairs, then pairs of pairs, whatever is composed.
  static bool is_certain(const Case& one) {
    if (one.algorithm == "direct") return true;
    return GetParam().hosts == std::vector{0, 0, 1, 1} && one.algorithm.find(':') != std::string::npos &&
           size_of(one.dtype) >= sizeof(float);  // sums of halves are rounded on the way
  }
};
LOCKSTEP_ON_EVERY_SETTING(CanonicalConformance);

/// Two hosts of neighbours, where compositions are admitted, and three of different sizes whose ranks are apart.
std::vector<Setting> settings_on_some_hosts() {
  std::vector<Setting> settings = every_setting_on_hosts();
  std::erase_if(settings, [](const Setting& one) { return one.ranks != 6 && one.hosts != std::vector{0, 0, 1, 1}; });
  return settings;
}
INSTANTIATE_TEST_SUITE_P(OnHosts, CanonicalConformance, testing::ValuesIn(settings_on_some_hosts()),
                         testing::PrintToStringParamName());

}  // namespace

/// Or nothing here would show anything: of the sums that the oracle makes of the same four numbers, some have lost
/// some.
TEST(CanonicalInputs, TheOrderOfASumShows) {
  const Inputs inputs(4);
  for (const DataType dtype : kDataTypes) {
    const Bytes& sums = inputs.reduced(Values::kOrder, dtype, ReduceOp::kSum);
    bool differ = false;
    for (std::size_t i = size_of(dtype); i < sums.size(); ++i) differ = differ || sums[i] != sums[i - size_of(dtype)];
    EXPECT_EQ(differ, is_floating(dtype)) << to_string(dtype);
  }
}

TEST_P(CanonicalConformance, EveryAdmittedAlgorithmGivesTheBitsOfTheTree) {
  const std::vector<Case> cases = canonical_cases(GetParam().ranks, has_registered());
  EXPECT_GE(run(cases), std::count_if(cases.begin(), cases.end(), is_certain));
}

/// Cut as gradients are cut into buckets, each bucket at another place of its schedule's chunks.
TEST_P(CanonicalConformance, WhateverTheBuckets) {
  std::vector<Case> cases;
  for (const std::vector<std::size_t>& buckets :
       {std::vector<std::size_t>{300}, {1, 299}, {100, 100, 100}, {7, 64, 1, 0, 200, 28}}) {
    std::size_t first = 0;
    for (const std::size_t count : buckets) {
      for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16}) {
        for (const std::string& algorithm : names_for(Collective::kAllReduce)) {
          cases.push_back({.algorithm = algorithm,
                           .dtype = dtype,
                           .blocks = {count},
                           .first = first,
                           .values = Values::kOrder,
                           .reduction = Reduction::kCanonical});
        }
      }
      first += count;
    }
  }
  EXPECT_GT(run(cases), 0);
}

/// A schedule cut into segments is another schedule; it comes in as a text.
TEST_P(CanonicalConformance, WhateverTheSegments) {
  const int ranks = GetParam().ranks;
  const Inputs inputs(ranks);
  const SharedArray<std::atomic<int>> ran(1);
  run_world(GetParam(), [&](Member& member) {
    for (const std::string& algorithm : names_for(Collective::kAllReduce)) {
      const OperationOptions canonical{.algorithm = algorithm, .reduction = Reduction::kCanonical};
      try {
        std::ignore = member.world.algorithm_for(Collective::kAllReduce, 4, canonical);
      } catch (const Error&) {
        continue;  // not admitted
      }
      for (const int segments : {2, 3}) {
        const Schedule schedule =
            segmented(find_algorithm(algorithm).build({.ranks = ranks, .hosts = GetParam().hosts}), segments);
        const Case one{.algorithm = member.world.load_schedule(to_text(schedule)),
                       .blocks = {Inputs::kPeriod},
                       .values = Values::kOrder,
                       .reduction = Reduction::kCanonical};
        MemberMemory memory(member.world, {one});
        Trial trial(member.world, inputs, one, memory.of(one));
        trial.start();
        trial.finish();
        ++ran[0];
      }
    }
  });
  EXPECT_GE(ran[0], 2 * ranks) << "direct is always admitted";
}

/// What ran is what `algorithm_for` names: for each algorithm, and for what stands for "auto" in either mode, at a size
/// that goes as letters and at one that does not.
TEST_P(CanonicalConformance, WhatRanIsWhatIsNamed) {
  std::vector<std::pair<std::string, Reduction>> asked{{"auto", Reduction::kFast}, {"auto", Reduction::kCanonical}};
  for (const std::string& name : names_for(Collective::kAllReduce)) asked.emplace_back(name, Reduction::kFast);
  for (const std::size_t count : {std::size_t{100}, std::size_t{1000}}) {
    const SharedArray<std::atomic<std::uint64_t>> recorded(asked.size());
    const SharedArray<std::uint64_t> planned(asked.size());
    run_world(GetParam(), [&](Member& member) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto record = std::make_shared<OperationRecord>();
        const OperationOptions options{.algorithm = asked[i].first, .reduction = asked[i].second, .record = record};
        member.state.record_transfers(
            [&](const ExecutedTransfer& one) { recorded[i] += hash_of(one.step, one.transfer); });
        member.world.all_reduce(buffer_of(values), ReduceOp::kSum, options).wait();
        const std::string name = member.world.algorithm_for(Collective::kAllReduce, count * sizeof(float), options,
                                                            DataType::kFloat32, /*registered=*/false);
        EXPECT_EQ(record->algorithm, name);
        if (member.world.rank() != 0) continue;
        planned[i] = hash_of(find_algorithm(name).build({.ranks = member.world.size(), .hosts = GetParam().hosts}));
      }
    });
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(recorded[i], planned[i]) << asked[i].first << count;
  }
}

}  // namespace lockstep::conformance
