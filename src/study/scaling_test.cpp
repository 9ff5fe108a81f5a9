#include "study/scaling.h"

#include "study/page_for_tests.h"

#include <gmock/gmock.h>

namespace lockstep::study {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

namespace {

constexpr FlatCost kCost{1e-3, 1e-6};  // a millisecond a message, a microsecond a byte
constexpr double kGradient = 12000;

double ring_seconds(int p, double n) { return 2 * (p - 1) * kCost.alpha_s + 2.0 * (p - 1) / p * n * kCost.beta_s; }

ScalingStudy study() {
  const std::map<int, FlatCost> links = {{2, kCost}, {3, kCost}, {4, kCost}};
  ScalingSweep sweep{.medium = "TCP at 1 Gbit/s",
                     .shares_memory = false,
                     .about = "From a ring alone.",
                     .links = links,
                     .model = model_of(links),
                     .gradient_bytes = kGradient,
                     .collectives = {},
                     .trainings = {}};
  for (const int p : {2, 3, 4}) sweep.collectives.push_back({"ring", p, kGradient, ring_seconds(p, kGradient)});
  sweep.collectives.push_back({"ring", 4, 12, ring_seconds(4, 12)});
  sweep.collectives.push_back({"tree", 4, 12, 0.005});
  sweep.collectives.push_back({"tree", 4, kGradient, 0.1});
  const BucketRecord bucket{.bytes = 12000, .algorithm = "ring", .operation = "all_reduce"};
  sweep.trainings = {{.ranks = 2, .iteration_ms = 80, .exposed_ms = 20, .buckets = {bucket}},
                     {.ranks = 4, .iteration_ms = 100, .exposed_ms = 40, .buckets = {bucket}}};
  ScalingStudy study{.command = "lockstep lab scaling",
                     .training = "text: GPT",
                     .how = "Once.",
                     .skipped = {},
                     .cores = 2,
                     .gradient_bytes = kGradient,
                     .alone = {.iteration_ms = 100, .forward_ms = 30, .backward_ms = 60},
                     .sweeps = {}};
  study.sweeps.push_back(std::move(sweep));
  return study;
}

}  // namespace

TEST(Scaling, DividesForwardAndBackwardAndNotTheUpdate) {
  const ScalingStudy all = study();
  const ScalingSweep& sweep = all.sweeps[0];
  // 90 / 2 + 10, and a bucket of 2 * 1 + 12 ms behind backward.
  EXPECT_NEAR(predict_iteration_ms(all, sweep, sweep.trainings[0]), 55 + 14, 0.1);
  // Four ranks on two cores take turns: 2 (90 / 4 + 10), and 6 + 18 ms.
  EXPECT_NEAR(predict_iteration_ms(all, sweep, sweep.trainings[1]), 65 + 24, 0.1);
}

TEST(Scaling, HasAPageWithCurvesPredictionsAndEfficiency) {
  const LabPage page = page_of(study());
  const LabChart& over_bytes = chart_named(page, "All-reduce on 4 ranks, TCP at 1 Gbit/s");
  ASSERT_THAT(over_bytes.curves, SizeIs(2));
  EXPECT_EQ(over_bytes.curves[0].name, "ring");
  EXPECT_THAT(over_bytes.curves[0].measured, SizeIs(2));
  EXPECT_NEAR(over_bytes.curves[0].predicted[0].second, over_bytes.curves[0].measured[0].second, 100);
  EXPECT_THAT(over_bytes.words,
              AllOf(HasSubstr("At 12 B tree is the fastest with 5.00 ms, ring the slowest"),
                    HasSubstr("at 11.7 KiB ring is the fastest with 24.0 ms, tree the slowest with 100 ms"),
                    HasSubstr("p = 4, alpha = 1.00 ms"), HasSubstr("n = p alpha / beta = 3.91 KiB")));
  const LabChart& over_ranks = chart_named(page, "All-reduce of the gradient, 11.7 KiB, TCP at 1 Gbit/s");
  EXPECT_THAT(over_ranks.curves[0].measured, SizeIs(3));
  EXPECT_THAT(over_ranks.words, AllOf(HasSubstr("grows by a factor of 1.50 from 2 ranks to 4, its time by 1.71"),
                                      HasSubstr("More than 2 ranks take turns")));
  const LabChart& shares = chart_named(page, "Scaling efficiency, T(1) / (p T(p))");
  EXPECT_THAT(shares.curves[0].measured, testing::ElementsAre(LabPoint{1, 1}, LabPoint{2, 0.625}, LabPoint{4, 0.25}));
  EXPECT_THAT(shares.words, HasSubstr("4 ranks over TCP at 1 Gbit/s reach 25 % of 4 times the speed of one"));
  EXPECT_THAT(chart_named(page, "Iteration of the training").curves[0].predicted, SizeIs(3));
  EXPECT_THAT(text_of(page),
              AllOf(HasSubstr("saw none of these points"), HasSubstr("The 8 predictions of times have")));
}

TEST(Scaling, ATrainingWithABucketOfASizeThatWasCalibratedWithCountsInNoError) {
  ScalingStudy known = study();
  known.sweeps[0].trainings[1].buckets.push_back({.bytes = 1 << 16, .algorithm = "ring"});
  known.sweeps[0].calibrated = {1 << 16};
  EXPECT_THAT(text_of(page_of(known)), AllOf(HasSubstr("The 7 predictions of times have a median error of"),
                                             HasSubstr("1 more is left out"), HasSubstr("counts in no error")));
}

TEST(Scaling, AGradientOfASizeThatWasCalibratedWithIsStoodForByAnother) {
  ScalingStudy moved = study();
  moved.gradient_bytes = 16000;
  const LabPage page = page_of(moved);
  const LabChart& over_ranks =
      chart_named(page, "All-reduce of 11.7 KiB, since the calibration has seen the gradient's size, TCP at 1 Gbit/s");
  EXPECT_THAT(over_ranks.curves.at(0).measured, SizeIs(3));
  EXPECT_THAT(text_of(page), HasSubstr("its gradient 15.6 KiB"));
}

TEST(Scaling, WithoutTrainingsOrCollectivesDrawsWhatThereIs) {
  ScalingStudy none = study();
  none.sweeps[0].trainings.clear();
  EXPECT_THAT(page_of(none).charts, SizeIs(2));
  none.sweeps[0].collectives.clear();
  none.skipped = "A shaped link cannot be made here: no.";
  EXPECT_THAT(page_of(none).charts, testing::IsEmpty());
  EXPECT_THAT(text_of(page_of(none)), AllOf(HasSubstr("Nothing was predicted."), HasSubstr("cannot be made here")));
}

}  // namespace lockstep::study
