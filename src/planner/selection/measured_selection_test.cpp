#include "planner/selection/measured_selection.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

/// Of 3 ranks: seconds at each size, of two algorithms.
std::vector<Sample> with(const std::vector<std::array<double, 3>>& bytes_direct_ring) {
  std::vector<Sample> samples;
  for (const auto& [bytes, direct, ring] : bytes_direct_ring) {
    for (const auto& [name, seconds] : {std::pair("direct", direct), std::pair("ring", ring)}) {
      samples.push_back({.collective = Collective::kAllReduce,
                         .algorithm = name,
                         .ranks = 3,
                         .bytes = bytes,
                         .seconds = seconds,
                         .job = {}});
    }
  }
  return samples;
}

Selection chosen(const std::vector<Sample>& samples, int ranks) {
  return measured_selection(samples, ranks, built_in_selection(ranks));
}

std::string text_of(const std::vector<std::array<double, 3>>& measured) { return chosen(with(measured), 3).to_text(); }

}  // namespace

TEST(MeasuredSelection, TakesTheFastestAtEachSize) {
  EXPECT_EQ(text_of({{1024, 1, 2}, {4096, 2, 1}}), "all_reduce: 0-2KiB direct, 2KiB- ring");
  EXPECT_EQ(text_of({{1024, 2, 1}, {4096, 1, 2}, {65536, 2, 1}}),
            "all_reduce: 0-2KiB ring, 2KiB-16KiB direct, 16KiB- ring");
}

TEST(MeasuredSelection, WhatIsBuiltInNeedsNoRangeOfItsOwn) {
  for (const char* name : {"direct", "ring"}) {
    Selection built_in;
    built_in.set(Collective::kAllReduce, {{0, name}});
    const auto chosen_by = [&](double direct, double ring) {
      return measured_selection(with({{1024, direct, ring}}), 3, built_in).select(Collective::kAllReduce, 1024);
    };
    EXPECT_EQ(chosen_by(1.02, 1), name) << "2 % are no reason to leave it";
    EXPECT_EQ(chosen_by(1, 1.02), name);
    EXPECT_EQ(chosen_by(1.04, 1), "ring");
    EXPECT_EQ(chosen_by(1, 1.04), "direct");
  }
}

TEST(MeasuredSelection, ARangeStartsWhereTheTimesCross) {
  // Twice as slow at 1 KiB, an eighth faster at 64 KiB: near the end.
  const std::string text = text_of({{1024, 1, 2}, {65536, 8, 7}});
  EXPECT_EQ(text, "all_reduce: 0-32KiB direct, 32KiB- ring");
}

TEST(MeasuredSelection, NoiseMakesNoRanges) {
  EXPECT_EQ(text_of({{1024, 1, 2}, {4096, 1.02, 1}, {65536, 1, 2}}), "all_reduce: 0- direct");
  // 2 % at each of two sizes are worth one more range, but not two.
  EXPECT_EQ(text_of({{1024, 1, 2}, {4096, 1.025, 1}, {65536, 1.025, 1}, {262144, 1.01, 1}}),
            "all_reduce: 0-4KiB direct, 4KiB- ring");
  EXPECT_EQ(text_of({{1024, 1, 2}, {4096, 1.025, 1}, {65536, 1.025, 1}, {262144, 1, 2}}), "all_reduce: 0- direct");
}

TEST(MeasuredSelection, WhatSamplesDifferByCountsAsFarAsItIsMoreThanTheirErrors) {
  std::vector<Sample> samples = with({{1024, 1, 2}, {4096, 1.3, 1}});
  const auto text_with_error = [&](double error) {
    for (Sample& sample : samples) sample.error = error;
    return chosen(samples, 3).to_text();
  };
  EXPECT_EQ(text_with_error(0.1), "all_reduce: 0-2560 direct, 2560- ring") << "26 % and 14 for noise";
  EXPECT_EQ(text_with_error(0.2), "all_reduce: 0- direct");
  samples = with({{1024, 1.05, 1}});
  EXPECT_EQ(text_with_error(0.2), "all_reduce: 0- ring") << "the faster one still, where it costs no range";
}

TEST(MeasuredSelection, PlainMemoryHasRangesOfItsOwn) {
  std::vector<Sample> samples = with({{1024, 1, 2}});
  for (Sample sample : with({{1024, 2, 1}})) {
    sample.memory = MemoryKind::kPlain;
    samples.push_back(sample);
  }
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0- direct; all_reduce plain: 0- ring");
}

TEST(MeasuredSelection, BothStatesOfAMachineCount) {
  std::vector<Sample> samples = with({{1024, 1.0, 1.1}, {4096, 1.0, 1.1}});
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0- direct");
  for (Sample& sample : samples) sample.other_state_s = sample.algorithm == "ring" ? 2 : 3;
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0- ring");
  // Where only some were measured in the other one, that would compare one state with the other.
  samples[0].other_state_s = samples[2].other_state_s = 0;
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0- direct");
  samples = with({{1024, 1.1, 1.0}, {4096, 1.1, 1.0}});
  samples[0].other_state_s = samples[2].other_state_s = 1;
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0- ring");
}

TEST(MeasuredSelection, InBothStatesAnErrorCountsLessThanInOne) {
  std::vector<Sample> samples = with({{1024, 1, 2}, {4096, 1.3, 1}});
  for (Sample& sample : samples) sample.error = 0.2;
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0- direct");
  for (Sample& sample : samples) {
    sample.other_state_s = sample.seconds;
    sample.other_state_error = sample.error;
  }
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0-2560 direct, 2560- ring") << "26 % and 20 for noise";
}

TEST(MeasuredSelection, WhatIsBuiltInStaysUnlessAnotherWinsMoreThanAChangeCosts) {
  const std::string built_in = select(built_in_selection(3), Collective::kAllReduce, 0);
  const auto picked_over_it = [&](double seconds) {
    std::vector<Sample> samples = with({{1024, seconds, 1}});
    samples.front().algorithm = built_in;
    return select(chosen(samples, 3), Collective::kAllReduce, 0);
  };
  EXPECT_EQ(picked_over_it(1.02), built_in);
  EXPECT_EQ(picked_over_it(1.05), "ring");
}

/// Closer than they are rounded to.
TEST(MeasuredSelection, RangesOfSizesCloseTogetherAreReadBack) {
  std::vector<Sample> samples = with({{1024, 1, 9}, {1040, 9, 1}, {1056, 9, 9}});
  samples.push_back(samples.back());
  samples.back().algorithm = "tree";
  samples.back().seconds = 1;
  const Selection selection = chosen(samples, 3);
  EXPECT_EQ(Selection::parse(selection.to_text(), "its text"), selection);
  EXPECT_EQ(selection.to_text(), "all_reduce: 0-1KiB direct, 1KiB-1025 ring, 1025- tree");
}

TEST(MeasuredSelection, SaysNothingOfWhatWasNotMeasured) {
  const std::vector<Sample> samples = with({{1024, 1, 2}});
  EXPECT_EQ(chosen(samples, 3).select(Collective::kAllGather, 1), "");
  EXPECT_EQ(chosen(samples, 4), Selection());
}

/// One that was not measured there (it would take too long) is passed over.
TEST(MeasuredSelection, SizesMayLackAnAlgorithm) {
  std::vector<Sample> samples = with({{1024, 1, 2}, {4096, 2, 1}});
  samples.erase(samples.begin());
  EXPECT_EQ(chosen(samples, 3).to_text(), "all_reduce: 0- ring");
}

}  // namespace lockstep
