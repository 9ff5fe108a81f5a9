// Canonical reductions: the bits are those of the one tree, whatever runs, where, and in how many pieces.
#include "algorithms/catalog.h"
#include "schedule/promise.h"
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

  /// A bucket of each type by every algorithm; where the collective has blocks, those of the ranks differ by an
  /// element.
  static void add_bucket(Collective collective, std::size_t first, std::size_t count, bool registered,
                         std::vector<Case>& cases) {
    const auto ranks = static_cast<std::size_t>(GetParam().ranks);
    std::vector<std::size_t> blocks{count};
    if (facts_of(collective).in_blocks) {
      blocks.clear();
      for (std::size_t r = 0; r < ranks; ++r) blocks.push_back(count * (r + 1) / ranks - count * r / ranks);
    }
    for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16}) {
      for (const std::string& algorithm : names_for(collective)) {
        cases.push_back({.collective = collective,
                         .algorithm = algorithm,
                         .dtype = dtype,
                         .root = static_cast<int>(cases.size() % ranks),
                         .blocks = blocks,
                         .first = first,
                         .by_counts = blocks.size() > 1,
                         .registered = registered,
                         .values = Values::kOrder,
                         .reduction = Reduction::kCanonical});
      }
    }
  }

  /// Every collective that sums, by every algorithm, in both kinds of memory; in float32 and in both kinds of halves,
  /// of which fewer are admitted.
  static std::vector<Case> whole_schedules() {
    std::vector<Case> cases;
    for (const Collective collective : kSummingCollectives) {
      for (const std::string& algorithm : names_for(collective)) {
        for (const bool registered : {false, true}) {
          if (registered && !has_registered()) continue;
          for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16, DataType::kFloat16}) {
            cases.push_back({.collective = collective,
                             .algorithm = algorithm,
                             .dtype = dtype,
                             .root = has_root(collective) ? GetParam().ranks - 1 : 0,
                             .blocks = even_blocks(facts_of(collective), GetParam().ranks, Inputs::kPeriod),
                             .registered = registered,
                             .values = Values::kOrder,
                             .reduction = Reduction::kCanonical});
          }
        }
      }
    }
    return cases;
  }

  static Schedule schedule_of(const Case& one) {
    return find_algorithm(one.algorithm)
        .build({.collective = one.collective, .ranks = GetParam().ranks, .root = one.root, .hosts = GetParam().hosts});
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

/// Cut as gradients are cut into buckets, each bucket at another place of its schedule's chunks, in registered memory
/// and in other by turns.
TEST_P(CanonicalConformance, WhateverTheBuckets) {
  std::vector<Case> cases;
  int nth_layout = 0;
  for (const std::vector<std::size_t>& buckets :
       {std::vector<std::size_t>{300}, {1, 299}, {100, 100, 100}, {7, 64, 1, 0, 200, 28}}) {
    std::size_t first = 0;
    int nth_bucket = nth_layout++;
    for (const std::size_t count : buckets) {
      const bool registered = has_registered() && nth_bucket++ % 2 == 1;
      for (const Collective collective : kSummingCollectives) add_bucket(collective, first, count, registered, cases);
      first += count;
    }
  }
  EXPECT_GE(run(cases), std::count_if(cases.begin(), cases.end(), is_certain));
}

/// A schedule cut into segments is another schedule; it comes in as a text. The last rank is the root.
TEST_P(CanonicalConformance, WhateverTheSegments) {
  const int ranks = GetParam().ranks;
  const Inputs inputs(ranks);
  const SharedArray<std::atomic<int>> ran(1);
  run_world(GetParam(), [&](Member& member) {
    for (const Case& whole : whole_schedules()) {
      MemberMemory memory(member.world, {whole});
      Trial trial(member.world, inputs, whole, memory.of(whole));
      if (!trial.start_if_admitted()) continue;
      trial.finish();
      for (const int segments : {2, 3}) {
        Case one = whole;
        one.algorithm = member.world.load_schedule(to_text(segmented(schedule_of(whole), segments)));
        Trial in_segments(member.world, inputs, one, memory.of(one));
        in_segments.start();
        in_segments.finish();
        ++ran[0];
      }
    }
  });
  const std::vector<Case> all = whole_schedules();
  EXPECT_GE(ran[0], 2 * ranks * std::count_if(all.begin(), all.end(), is_certain));
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
