#include "study/sharding.h"

#include "study/page_for_tests.h"

#include <gmock/gmock.h>

namespace lockstep::study {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

namespace {

BucketRecord operation(const char* name) {
  return {.bytes = 4000,
          .algorithm = "ring",
          .operation = name,
          .wire_bytes = std::string(name) == "all_reduce" ? 4000u : 2000u};
}

/// 1000 parameters on 2 ranks; a byte takes a microsecond, a message nothing.
ShardingStudy study() {
  ShardingStudy study{.command = "lockstep lab sharding",
                      .training = "sst2",
                      .how = "Once.",
                      .about = "From rings.",
                      .ranks = 2,
                      .parameters = 1000,
                      .compute_ms = 50,
                      .update_ms = 10,
                      .model = model_of({{2, {0, 1e-6}}}),
                      .stages = {}};
  const std::vector<std::vector<BucketRecord>> operations = {
      {operation("all_reduce")},
      {operation("reduce_scatter"), operation("all_gather")},
      {operation("reduce_scatter"), operation("all_gather")},
      {operation("all_gather"), operation("all_gather"), operation("reduce_scatter")}};
  for (int stage = 0; stage < 4; ++stage) {
    const auto part = [&](int from, std::uint64_t bytes) { return stage >= from ? bytes / 2 : bytes; };
    StagePoint point{.stage = stage,
                     .iteration_ms = 60.0 + stage,
                     .communication_ms = 4.0 + stage,
                     .buckets = operations[static_cast<std::size_t>(stage)],
                     .memory = {}};
    // A tenth of the parameters stands in no block.
    point.memory = {{"parameters", part(3, 4000), stage == 3 ? 2200u : 4000u},
                    {"gradients", part(2, 4000), part(2, 4000)},
                    {"optimizer state", part(1, 8000), part(1, 8800)}};
    if (stage >= 2) point.memory.push_back({"communication buffers", 0, 1024u * static_cast<unsigned>(stage)});
    study.stages.push_back(std::move(point));
  }
  return study;
}

}  // namespace

TEST(Sharding, SendsByTheFormulas) {
  EXPECT_DOUBLE_EQ(predict_sent_bytes(0, 4, 1000), 1500);
  EXPECT_DOUBLE_EQ(predict_sent_bytes(2, 4, 1000), 1500);
  EXPECT_DOUBLE_EQ(predict_sent_bytes(3, 4, 1000), 2250);
}

TEST(Sharding, SparesThePartOfTheUpdateThatOthersDo) {
  const ShardingStudy all = study();
  EXPECT_NEAR(predict_iteration_ms(all, all.stages[0]), 50 + 4, 0.01);
  EXPECT_NEAR(predict_iteration_ms(all, all.stages[1]), 50 - 5 + 4, 0.01);
  EXPECT_NEAR(predict_iteration_ms(all, all.stages[3]), 50 - 5 + 6, 0.01);
}

TEST(Sharding, HasAPageWithMemoryBytesAndTime) {
  const LabPage page = page_of(study());
  ASSERT_THAT(page.bars, SizeIs(4));
  EXPECT_EQ(page.bars[3].rows[2].predicted_bytes, 4000u);
  const LabChart& memory = chart_named(page, "Memory of a rank between updates");
  EXPECT_THAT(memory.curves[0].predicted,
              testing::ElementsAre(LabPoint{0, 16000}, LabPoint{1, 12000}, LabPoint{2, 10000}, LabPoint{3, 8000}));
  EXPECT_EQ(memory.curves[0].measured[3].second, 8600);
  EXPECT_THAT(memory.words, AllOf(HasSubstr("16.80 at stage 0, 12.40 at stage 1, 10.40 at stage 2, 8.60 at stage 3"),
                                  HasSubstr("keeps 2 values a parameter"), HasSubstr("16, 8 + 8/p, 4 + 12/p and 16/p"),
                                  HasSubstr("16.00, 12.00, 10.00 and 8.00"), HasSubstr("holds 51 % of the first"),
                                  HasSubstr("400 B of the 3.91 KiB of parameters stand in no block"),
                                  HasSubstr("gradients travel: 2 KiB at stage 2, 3 KiB at stage 3. All")));
  const LabChart& sent = chart_named(page, "Bytes that a rank sends for an iteration");
  EXPECT_THAT(sent.curves[0].measured,
              testing::ElementsAre(LabPoint{0, 4000}, LabPoint{1, 4000}, LabPoint{2, 4000}, LabPoint{3, 6000}));
  EXPECT_THAT(sent.words,
              AllOf(HasSubstr("1.50 times as much"), HasSubstr("1 all_gather and 1 reduce_scatter at stage 1"),
                    HasSubstr("of the 3.52 KiB there, (p-1)/p, 1.76 KiB on top")));
  const LabChart& time = chart_named(page, "Time");
  EXPECT_THAT(time.curves, SizeIs(2));
  EXPECT_THAT(time.words,
              HasSubstr("Stage 0 is the fastest with 60.0 ms an iteration, stage 3 the slowest with 63.0 ms"));
  EXPECT_THAT(text_of(page), AllOf(HasSubstr("From rings."), HasSubstr("buckets of 1 GiB (the first of 1 MiB)"),
                                   HasSubstr("The 16 predictions of memory and bytes have a median error of 0 %"),
                                   HasSubstr("The 8 predictions of times have a median error of")));
  EXPECT_EQ(page.tables.back().rows.back()[0], "all");
}

TEST(Sharding, AStageWithABucketOfASizeThatWasCalibratedWithCountsInNoErrorOfTimes) {
  ShardingStudy known = study();
  known.stages[3].buckets[1].bytes = 1 << 16;
  known.calibrated = {1 << 14, 1 << 16};
  EXPECT_THAT(text_of(page_of(known)),
              AllOf(HasSubstr("The 16 predictions of memory and bytes have a median error of"),
                    HasSubstr("The 6 predictions of times have a median error of"), HasSubstr("2 more are left out")));
}

TEST(Sharding, HasTheFormulasOfTheOptimizerAtHand) {
  ShardingStudy momentum = study();
  for (StagePoint& point : momentum.stages) {
    point.memory[2].predicted_bytes /= 2;
    point.memory[2].measured_bytes /= 2;
  }
  EXPECT_THAT(chart_named(page_of(momentum), "Memory of a rank between updates").words,
              AllOf(HasSubstr("keeps 1 value a parameter"), HasSubstr("12, 8 + 4/p, 4 + 8/p and 12/p"),
                    HasSubstr("with p = 2, 12.00, 10.00, 8.00 and 6.00")));
}

}  // namespace lockstep::study
