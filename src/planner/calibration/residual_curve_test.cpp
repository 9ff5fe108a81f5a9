#include "planner/calibration/residual_curve.h"

#include "algorithms/catalog.h"
#include "planner/one_host/machine_for_tests.h"
#include "schedule/segmented.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

namespace lockstep {

namespace {

Sample ring_sample(int ranks, double bytes, double measured_s, double predicted_s) {
  return {.algorithm = "ring", .ranks = ranks, .bytes = bytes, .seconds = measured_s, .predicted_s = predicted_s};
}

Schedule ring(int ranks) { return find_algorithm("ring").build({.ranks = ranks}); }

/// Of 2 ranks the model is right at 1 KiB and says half at 64 KiB; of 4 it says a quarter at both.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> kSamples{ring_sample(2, 1 << 10, 1, 1), ring_sample(2, 1 << 16, 8, 4),
                                            ring_sample(4, 1 << 10, 4, 1), ring_sample(4, 1 << 16, 8, 2)};
  return kSamples;
}

}  // namespace

TEST(ResidualCurve, IsTheErrorWhereItWasMeasuredAndBetweenByLogarithms) {
  const ResidualCurve curve(samples(), ring(2), std::nullopt);
  EXPECT_DOUBLE_EQ(curve.factor(1 << 10), 1);
  EXPECT_DOUBLE_EQ(curve.factor(1 << 16), 2);
  EXPECT_DOUBLE_EQ(curve.factor(1 << 13), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(curve.factor(4), 1) << "as at the least";
  EXPECT_DOUBLE_EQ(curve.factor(1 << 26), 2) << "as at the most";
  EXPECT_DOUBLE_EQ(curve.factor(0), 1);
}

TEST(ResidualCurve, IsTheSameFromEveryRoot) {
  Sample sample = ring_sample(3, 1 << 10, 3, 1);
  sample.collective = Collective::kBroadcast;
  for (int root = 0; root < 3; ++root) {
    const Schedule schedule =
        find_algorithm("ring").build({.collective = Collective::kBroadcast, .ranks = 3, .root = root});
    EXPECT_DOUBLE_EQ(ResidualCurve({sample}, schedule, std::nullopt).factor(1 << 10), 3);
  }
}

TEST(ResidualCurve, OfANumberOfRanksBetweenTwoIsWhatBothSayOfAsManyBytesInAll) {
  const ResidualCurve curve(samples(), ring(3), std::nullopt);
  EXPECT_DOUBLE_EQ(curve.factor(2048.0 / 3), 1) << "2 ranks say nothing of 1 KiB each";
  EXPECT_DOUBLE_EQ(curve.factor(131072.0 / 3), 2) << "of 2 and 4";
  EXPECT_DOUBLE_EQ(curve.factor(16384.0 / 3), std::sqrt(2.0));
  const std::vector<Sample> against{ring_sample(2, 1 << 10, 2, 1), ring_sample(4, 1 << 10, 1, 2)};
  EXPECT_DOUBLE_EQ(ResidualCurve(against, ring(3), std::nullopt).factor(1 << 10), 1) << "one says more, the other less";
}

/// Of 4 ranks an all_gather of up to 4256 bytes is one of letters, of 3 up to 3192.
TEST(ResidualCurve, OfLettersIsOneOfItsOwnInSharedMemory) {
  const auto direct = [](int ranks) {
    return find_algorithm("direct").build({.collective = Collective::kAllGather, .ranks = ranks});
  };
  std::vector<Sample> known{ring_sample(4, 1 << 12, 2, 1), ring_sample(4, 1 << 13, 1, 2)};
  for (const Sample& sample : {ring_sample(2, 1 << 10, 2, 1), ring_sample(2, 1 << 12, 1, 2)}) known.push_back(sample);
  for (Sample& sample : known) {
    sample.collective = Collective::kAllGather;
    sample.algorithm = "direct";
  }
  const auto factor = [&](int ranks, double bytes, const std::optional<Machine>& memory_of = machine_for_tests()) {
    return ResidualCurve(known, direct(ranks), memory_of).factor(bytes);
  };
  EXPECT_DOUBLE_EQ(factor(4, 4200), 2);
  EXPECT_DOUBLE_EQ(factor(4, 4300), 0.5);
  EXPECT_GT(factor(4, 4300, std::nullopt), 1.8) << "between the two, where there are no letters";
  EXPECT_DOUBLE_EQ(factor(3, 3100), 2) << "2 and 4 ranks say the same, each of its letters";
  EXPECT_DOUBLE_EQ(factor(3, 3200), 0.5);
}

/// Of 2 ranks that share a cache of 32 MiB what is beyond 20 MiB goes past it, of 3 beyond 13.3.
TEST(ResidualCurve, OfWhatGoesPastTheCachesIsOneOfItsOwn) {
  constexpr double kMiB = 1 << 20;
  const std::vector<Sample> known{ring_sample(2, 16 * kMiB, 2, 1), ring_sample(2, 32 * kMiB, 1, 2),
                                  ring_sample(4, 8 * kMiB, 2, 1), ring_sample(4, 16 * kMiB, 1, 2)};
  const auto factor = [&](int ranks, double bytes, const std::optional<Machine>& memory_of = machine_for_tests()) {
    return ResidualCurve(known, ring(ranks), memory_of).factor(bytes);
  };
  EXPECT_DOUBLE_EQ(factor(2, 20 * kMiB), 2);
  EXPECT_DOUBLE_EQ(factor(2, 21 * kMiB), 0.5);
  EXPECT_GT(factor(2, 21 * kMiB, std::nullopt), 1) << "between the two, where all goes over TCP";
  EXPECT_DOUBLE_EQ(factor(3, 13 * kMiB), 2) << "2 and 4 ranks say the same, each of what stays in its caches";
  EXPECT_DOUBLE_EQ(factor(3, 14 * kMiB), 0.5);
}

TEST(ResidualCurve, OfWhatWasNotMeasuredKnowsNothing) {
  const auto factor = [](const Schedule& schedule, const std::vector<Sample>& known = samples()) {
    return ResidualCurve(known, schedule, std::nullopt).factor(1 << 16);
  };
  EXPECT_EQ(factor(ring(5)), 1) << "more ranks";
  EXPECT_EQ(factor(find_algorithm("tree").build({.ranks = 2})), 1);
  EXPECT_EQ(factor(find_algorithm("ring").build({.collective = Collective::kAllGather, .ranks = 2})), 1);
  EXPECT_EQ(factor(segmented(ring(4), 2)), 1) << "a pipeline of it";
  Schedule file = find_algorithm("tree").build({.ranks = 4});
  file.name = "ring";
  EXPECT_EQ(factor(file), 1) << "a file may give itself any name";
  file.name = "mine";
  EXPECT_EQ(factor(file), 1);
  Sample plain = ring_sample(2, 1 << 16, 8, 4);
  plain.memory = MemoryKind::kPlain;
  EXPECT_EQ(factor(ring(2), {plain}), 1);
  EXPECT_EQ(factor(ring(2), {ring_sample(2, 1 << 16, 8, 0)}), 1) << "no prediction";
  EXPECT_EQ(ResidualCurve().factor(1 << 16), 1);
}

}  // namespace lockstep
