#include "study/buckets.h"

#include "study/page_for_tests.h"

#include <gmock/gmock.h>

namespace lockstep::study {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

namespace {

constexpr double kAlpha = 1e-3, kBeta = 1e-6;  // a millisecond a message, a microsecond a byte

/// A training on 2 ranks, of 16 KB of gradients, in so many buckets of one size.
BucketPoint point(std::uint64_t bytes, std::size_t number, double iteration_ms) {
  BucketPoint point{.bucket_bytes = bytes, .buckets = {}, .iteration_ms = iteration_ms, .most_ms = iteration_ms + 0.1};
  for (std::size_t i = 0; i < number; ++i) {
    point.buckets.push_back(
        {.index = static_cast<int>(i), .bytes = 16000 / number, .algorithm = "ring", .operation = "all_reduce"});
  }
  point.communication_ms = 16 + 2.0 * static_cast<double>(number);
  point.behind_ms = 100 + point.communication_ms;
  point.exposed_ms = iteration_ms - 100;
  return point;
}

BucketStudy study(bool shares_memory) {
  BucketSweep sweep{.medium = shares_memory ? "shared memory" : "TCP at 1 Gbit/s",
                    .shares_memory = shares_memory,
                    .ranks = 2,
                    .compute_ms = 100,
                    .backward_ms = 40,
                    .link = {kAlpha, kBeta},
                    .about = "From a ring alone.",
                    .model = model_of({{2, {kAlpha, kBeta}}}),
                    .points = {point(1000, 16, 111), point(4000, 4, 106), point(16000, 1, 118)}};
  BucketStudy study{
      .command = "lockstep lab buckets", .training = "text: GPT", .how = "Once.", .skipped = {}, .sweeps = {}};
  study.sweeps.push_back(std::move(sweep));
  return study;
}

}  // namespace

TEST(Buckets, ArePredictedByTheTextbook) {
  const BucketSweep over_link = study(false).sweeps[0];
  // k 2(p-1) alpha + 2(p-1)/p n beta
  EXPECT_NEAR(predict(over_link, over_link.points[0].buckets).communication_ms, 16 * 2 + 16, 0.1);
  EXPECT_NEAR(predict(over_link, over_link.points[2].buckets).communication_ms, 2 + 16, 0.1);
  EXPECT_NEAR(predict(over_link, over_link.points[2].buckets).iteration_ms, 118, 0.1);
  // Four leave at 10, 20, 30 and 40 ms and take 6 each: the last is alone behind backward.
  EXPECT_NEAR(predict(over_link, over_link.points[1].buckets).iteration_ms, 106, 0.1);
  EXPECT_NEAR(predict(over_link, over_link.points[1].buckets).behind_ms, 124, 0.1);
  const BucketSweep in_memory = study(true).sweeps[0];
  EXPECT_NEAR(predict(in_memory, in_memory.points[1].buckets).iteration_ms, 124, 0.1) << "nothing is hidden";
}

TEST(Buckets, HaveAPageWithCurvesPredictionsAndErrors) {
  const LabPage page = page_of(study(false));
  const LabChart& time = chart_named(page, "Iteration time, TCP at 1 Gbit/s");
  ASSERT_THAT(time.curves, SizeIs(2));
  EXPECT_THAT(time.curves[0].measured,
              testing::ElementsAre(LabPoint{1000, 111}, LabPoint{4000, 106}, LabPoint{16000, 118}));
  EXPECT_THAT(time.curves[0].predicted, SizeIs(3));
  EXPECT_TRUE(time.x.bytes);
  EXPECT_THAT(time.words, AllOf(HasSubstr("The fastest buckets are those of 3.91 KiB (4 of them, 106 ms an iteration)"),
                                HasSubstr("the slowest those of 15.6 KiB (1, 118 ms): 11 % longer"),
                                HasSubstr("hides 18.0 ms of 24.0 ms"), Not(HasSubstr("noise"))));
  EXPECT_THAT(chart_named(page, "Communication alone, behind backward, TCP at 1 Gbit/s").words,
              AllOf(HasSubstr("2(p-1) alpha"), HasSubstr("p = 2, alpha = 1.00 ms"), HasSubstr("n beta = 16.0 ms"),
                    HasSubstr("32.0 ms for the 16 buckets"), HasSubstr("2.00 ms for the 1 bucket of 15.6 KiB"),
                    HasSubstr("Measured, where no rank came late: 48.0 ms and 18.0 ms")));
  EXPECT_THAT(text_of(page), AllOf(HasSubstr("saw none of these runs"), HasSubstr("From a ring alone."),
                                   HasSubstr("buckets of 1 GiB (the first of 1 MiB) behind backward"),
                                   HasSubstr("The 9 predictions of times have a median error of")));
  EXPECT_EQ(page.tables.back().rows.back()[0], "all");
  EXPECT_EQ(page.command, "lockstep lab buckets");
}

TEST(Buckets, OfASizeThatWasCalibratedWithCountInNoError) {
  BucketStudy known = study(false);
  known.sweeps[0].calibrated = {64, 4000, 4096};  // the second point's buckets
  const LabPage page = page_of(known);
  EXPECT_THAT(text_of(page), AllOf(HasSubstr("The 6 predictions of times have a median error of"),
                                   HasSubstr("3 more are left out"), HasSubstr("counts in no error")));
  EXPECT_THAT(page.charts[0].curves[0].predicted, SizeIs(3)) << "drawn all the same";
  known.sweeps[0].calibrated = {64, 4096};
  EXPECT_THAT(text_of(page_of(known)), Not(HasSubstr("left out")));
}

TEST(Buckets, ThatDifferByLessThanTheNoiseAreNotCalledBetter) {
  BucketStudy noisy = study(false);
  for (BucketPoint& point : noisy.sweeps[0].points) point.most_ms = 2 * point.iteration_ms;
  EXPECT_THAT(page_of(noisy).charts[0].words,
              HasSubstr("so that no size is better than another by more than the noise"));
}

TEST(Buckets, OverSharedMemorySayThatHidingIsNotFree) {
  EXPECT_THAT(page_of(study(true)).charts[0].words, HasSubstr("move the bytes with their training threads"));
}

TEST(Buckets, WithoutALinkSayWhy) {
  BucketStudy skipped = study(true);
  skipped.skipped = "A shaped link cannot be made here: no.";
  EXPECT_THAT(text_of(page_of(skipped)), HasSubstr("cannot be made here: no."));
}

}  // namespace lockstep::study
