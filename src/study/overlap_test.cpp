#include "study/overlap.h"

#include <gtest/gtest.h>

namespace lockstep::study {

namespace {

/// A millisecond a byte, twice as long for an all_gather.
double model(const Asked& asked) { return asked.bytes / 1000 * (asked.collective == Collective::kAllGather ? 2 : 1); }

std::vector<BucketRecord> buckets(const std::vector<std::uint64_t>& sizes) {
  std::vector<BucketRecord> all;
  for (const std::uint64_t bytes : sizes) all.push_back({.bytes = bytes, .algorithm = "ring"});
  return all;
}

double exposed(const std::vector<std::uint64_t>& sizes, double backward_ms) {
  return predict(model, buckets(sizes), {.milliseconds = backward_ms, .shares_memory = false}).exposed_ms;
}

}  // namespace

TEST(Overlap, HidesWhatIsUnderWayDuringBackward) {
  EXPECT_DOUBLE_EQ(exposed({100}, 40), 100) << "one bucket leaves when backward is over";
  EXPECT_DOUBLE_EQ(exposed({50, 50}, 1000), 50) << "all but the last are through";
  EXPECT_DOUBLE_EQ(exposed({50, 50}, 40), 80) << "the first leaves at 20, the second waits for it until 70";
  EXPECT_DOUBLE_EQ(exposed({25, 25, 25, 25}, 1000), 25);
  EXPECT_DOUBLE_EQ(exposed({}, 10), 0);
}

TEST(Overlap, HidesNothingWhereTrainingThreadsMoveTheBytes) {
  const auto predicted = predict(model, buckets({50, 50}), {.milliseconds = 1000, .shares_memory = true});
  EXPECT_DOUBLE_EQ(predicted.all_ms, 100);
  EXPECT_DOUBLE_EQ(predicted.exposed_ms, 100);
}

TEST(Overlap, AsksForTheOperationThatRan) {
  auto gather = buckets({10});
  gather[0].operation = "all_gather";
  EXPECT_DOUBLE_EQ(predict(model, gather, {}).all_ms, 20);
}

}  // namespace lockstep::study
