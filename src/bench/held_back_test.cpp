#include "bench/held_back.h"

#include "algorithms/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace lockstep::bench {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const HostJob> ring_job(int ranks) {
  return std::make_shared<HostJob>(find_algorithm("ring").build({.ranks = ranks}));
}

/// Of a ring, without a time.
Sample sample_of(int ranks, double bytes) { return {.algorithm = "ring", .ranks = ranks, .bytes = bytes}; }

/// Of a ring, whose model says a second.
Sample timed_sample(int ranks, double bytes, double seconds) {
  Sample sample = sample_of(ranks, bytes);
  sample.seconds = seconds;
  sample.predicted_s = 1;
  sample.job = ring_job(ranks);
  return sample;
}

std::vector<std::pair<int, double>> points_of(const std::vector<Sample>& samples) {
  std::vector<std::pair<int, double>> points;
  for (const Sample& sample : samples) points.emplace_back(sample.ranks, sample.bytes);
  return points;
}

}  // namespace

TEST(HeldBackNumbers, AreThoseNextToTwoAndToTheMost) {
  EXPECT_THAT(Numbers(2).known, ElementsAre(2));
  EXPECT_THAT(Numbers(2).held_back, IsEmpty());
  EXPECT_THAT(Numbers(3).known, ElementsAre(2, 3));
  EXPECT_THAT(Numbers(3).held_back, IsEmpty()) << "both are needed";
  EXPECT_THAT(Numbers(4).known, ElementsAre(2, 4));
  EXPECT_THAT(Numbers(4).held_back, ElementsAre(3));
  EXPECT_THAT(Numbers(5).known, ElementsAre(2, 5));
  EXPECT_THAT(Numbers(5).held_back, ElementsAre(3, 4));
  EXPECT_THAT(Numbers(6).known, ElementsAre(2, 3, 6));
  EXPECT_THAT(Numbers(6).held_back, ElementsAre(5)) << "3 is known";
  EXPECT_THAT(Numbers(8).known, ElementsAre(2, 4, 8));
  EXPECT_THAT(Numbers(8).held_back, ElementsAre(3, 7));
}

TEST(HeldBackNumbers, LieBetweenTwoThatAreKnown) {
  for (int most = 2; most <= 64; ++most) {
    const Numbers numbers(most);
    for (const int ranks : numbers.held_back) {
      EXPECT_FALSE(numbers.known.contains(ranks)) << most;
      EXPECT_LT(*numbers.known.begin(), ranks) << most;
      EXPECT_GT(*numbers.known.rbegin(), ranks) << most;
    }
  }
}

TEST(HeldBackSizes, LieBetweenTwoThatAreKnown) {
  EXPECT_THAT(held_back_sizes().front(), 384);
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const std::vector<std::size_t> known = known_sizes(medium);
    for (const std::size_t bytes : held_back_sizes()) {
      EXPECT_THAT(known, testing::Not(testing::Contains(bytes)));
      EXPECT_THAT(known, testing::Contains(testing::Lt(bytes)));
      EXPECT_THAT(known, testing::Contains(testing::Gt(bytes)));
    }
  }
}

TEST(HeldBack, SamplesArePartedBySizeAndByRanks) {
  const Measured measured = parted({sample_of(2, 256), sample_of(2, 384), sample_of(3, 256), sample_of(3, 384),
                                    sample_of(4, 1536), sample_of(4, 1 << 26)},
                                   Numbers(4));
  EXPECT_THAT(points_of(measured.known), ElementsAre(std::pair(2, 256), std::pair(4, 1 << 26)));
  EXPECT_THAT(points_of(measured.other_sizes), ElementsAre(std::pair(2, 384), std::pair(4, 1536)));
  EXPECT_THAT(points_of(measured.other_ranks), ElementsAre(std::pair(3, 256), std::pair(3, 384))) << "of whatever size";
  EXPECT_THAT(measured.other_collectives, IsEmpty());
  EXPECT_EQ(measured.all().size(), 6U);
}

TEST(HeldBack, IsPredictedOnRegisteredMemory) {
  Measured measured = parted({sample_of(2, 256), sample_of(2, 384), sample_of(3, 256)}, Numbers(4));
  measured.other_collectives = {sample_of(2, 4), sample_of(2, 16)};
  measured.other_collectives.back().memory = MemoryKind::kPlain;
  predict(measured, [](const Sample& sample) { return sample.ranks * sample.bytes; });
  std::vector<double> predicted;
  for (const Sample& sample : measured.all()) predicted.push_back(sample.predicted_s);
  EXPECT_THAT(predicted, ElementsAre(512, 768, 768, 8, 0));
}

/// 2 ranks take what the model says, 4 twice as long; so nothing is known of 3, and what takes 1.25 s is 20 % off.
TEST(HeldBack, TellsHowFarOffOtherRanksAre) {
  const std::vector<Sample> known{timed_sample(2, 256, 1), timed_sample(4, 256, 2)};
  std::vector<Sample> samples = known;
  samples.push_back(timed_sample(3, 256, 1.25));
  const HeldBack one = errors_of_held_back(parted(samples, Numbers(4)), std::nullopt);
  EXPECT_DOUBLE_EQ(one.ranks.median, 0.2);
  EXPECT_DOUBLE_EQ(one.ranks.worst, 0.2);
  EXPECT_EQ(one.sizes.worst, 0) << "none were held back";
  samples.push_back(timed_sample(3, 512, 2));
  samples.push_back(timed_sample(3, 384, 1));
  const HeldBack three = errors_of_held_back(parted(samples, Numbers(4)), std::nullopt);
  EXPECT_DOUBLE_EQ(three.ranks.median, 0.2);
  EXPECT_DOUBLE_EQ(three.ranks.worst, 0.5);
}

/// Where 2 and 4 ranks take twice what the model says, so do 3: what takes 2.5 s is 20 % off, not 60.
TEST(HeldBack, OfOtherRanksIsCorrectedByWhatIsKnown) {
  const HeldBack error = errors_of_held_back(
      parted({timed_sample(2, 256, 2), timed_sample(4, 256, 2), timed_sample(3, 256, 2.5)}, Numbers(4)), std::nullopt);
  EXPECT_DOUBLE_EQ(error.ranks.worst, 0.2);
}

/// The model is right at 192 bytes and says a quarter at 768: at 384, halfway by logarithms, it says half.
TEST(HeldBack, OfOtherSizesIsCorrectedByTheSizesBesideThem) {
  const HeldBack error = errors_of_held_back(
      parted({timed_sample(2, 192, 1), timed_sample(2, 384, 2.5), timed_sample(2, 768, 4)}, Numbers(4)), std::nullopt);
  EXPECT_NEAR(error.sizes.median, 0.2, 1e-12);
  EXPECT_NEAR(error.sizes.worst, 0.2, 1e-12);
  EXPECT_EQ(error.ranks.worst, 0) << "none were held back";
}

/// What is known is corrected to what it is, and would lower the median.
TEST(HeldBack, WhatIsKnownNeverCounts) {
  std::vector<Sample> samples{timed_sample(2, 256, 9), timed_sample(2, 512, 9), timed_sample(4, 256, 0.1)};
  const HeldBack none = errors_of_held_back(parted(samples, Numbers(4)), std::nullopt);
  EXPECT_EQ(none.sizes.worst, 0);
  EXPECT_EQ(none.ranks.worst, 0);
  samples.push_back(timed_sample(2, 384, 11.25));
  samples.push_back(timed_sample(3, 256, 1.25));
  const HeldBack one_of_each = errors_of_held_back(parted(samples, Numbers(4)), std::nullopt);
  EXPECT_NEAR(one_of_each.sizes.median, 0.2, 1e-12);
  EXPECT_NEAR(one_of_each.ranks.median, 0.2, 1e-12);
}

}  // namespace lockstep::bench
