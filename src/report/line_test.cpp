#include "report/line.h"

#include "report/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

IterationRecord example() {
  IterationRecord record;
  record.iteration = 20;
  record.loss = 2.34561;
  record.gradient_norm = 0.981;
  record.learning_rate = 3e-4;
  record.items_per_second = 12345.4;
  record.compute_ms = 10.12;
  record.exposed_ms = 0.8;
  record.bytes = 3 << 19;
  record.algorithm = "direct";
  return record;
}

BucketRecord bucket() { return {2, {"head.weight", "block.3.bias", "wte.weight"}, 1 << 20, "ring", 0.417, true}; }

TEST(Line, SaysAllOfAnIteration) {
  EXPECT_EQ(format_iteration(example()),
            "iteration 20  loss 2.3456  norm 0.98  lr 3.0e-04  12,345 tokens/s  compute 10.1 ms  exposed 0.8 ms  1.50 "
            "MiB direct");
}

TEST(Line, SaysTheValidationLossWhereThereIsOne) {
  IterationRecord record = example();
  record.validation_loss = 1.875;
  EXPECT_THAT(format_iteration(record), HasSubstr("loss 2.3456  validation loss 1.8750  norm"));
}

TEST(Line, SaysAccuracyDataWaitAndWhatItCounts) {
  IterationRecord record = example();
  record.training_accuracy = 0.8419;
  record.validation_loss = 0.41;
  record.validation_accuracy = 0.83;
  record.data_wait_ms = 2;
  EXPECT_EQ(
      format_iteration(record, "sentences"),
      "iteration 20  loss 2.3456  accuracy 84.2 %  validation loss 0.4100  validation accuracy 83.0 %  norm 0.98  "
      "lr 3.0e-04  12,345 sentences/s  compute 10.1 ms  exposed 0.8 ms  data 2.0 ms  1.50 MiB direct");
  EXPECT_EQ(fit(iteration_fields(record, "sentences"), 125),
            "iteration 20 loss 2.3456 acc 84.2 % val 0.4100 val acc 83.0 % norm 0.98 lr 3.0e-04 12.3k sent/s "
            "10.1+0.8+2.0 ms 1.50 MiB");
  EXPECT_EQ(fit(iteration_fields(record, "images"), 68),
            "iteration 20 loss 2.3456 val 0.4100 val acc 83.0 % 10.1+0.8+2.0 ms");
}

TEST(Line, SaysNumbersThatAreNoNumbers) {
  IterationRecord record = example();
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.gradient_norm = record.items_per_second = std::numeric_limits<double>::infinity();
  EXPECT_THAT(format_iteration(record), HasSubstr("loss nan  norm inf  lr 3.0e-04  inf tokens/s"));
  record.loss = 1e30;
  EXPECT_THAT(format_iteration(record), HasSubstr("loss 1e+30 "));
}

TEST(Line, FitsEveryWidthAndKeepsWhatMattersMost) {
  IterationRecord record = example();
  record.iteration = 123456;
  record.validation_loss = 1.875;
  for (std::size_t columns = 16; columns < 160; ++columns) {
    const std::string line = fit(iteration_fields(record), columns);
    EXPECT_LE(line.size(), columns);
    EXPECT_THAT(line, HasSubstr("iteration 123456"));
  }
  EXPECT_EQ(fit(iteration_fields(record), 160), format_iteration(record));
  const std::size_t whole = format_iteration(record).size();
  EXPECT_EQ(fit(iteration_fields(record), whole), format_iteration(record));
  EXPECT_NE(fit(iteration_fields(record), whole - 1), format_iteration(record));
}

TEST(Line, ATerminalOfEightyColumnsShowsEveryField) {
  IterationRecord record = example();
  record.iteration = 2000;
  EXPECT_EQ(fit(iteration_fields(record), 80),
            "iteration 2000 loss 2.3456 norm 0.98 lr 3.0e-04 12.3k tok/s 10.1+0.8 ms 1.50 MiB");
}

TEST(Line, AColouredLineIsThePlainOneBetweenEscapes) {
  EXPECT_EQ(join({{"a", "a", 1}, {"b", "b", 1, "1;32"}}, 2, true), "a  \x1b[1;32mb\x1b[0m");
  EXPECT_EQ(join({{"a", "a", 1}, {"b", "b", 1, "1;32"}}), "a  b");
}

TEST(SyncLine, FitsEveryWidth) {
  IterationRecord record = example();
  record.hidden_ms = 123;
  EXPECT_EQ(join(sync_fields(record)), "  communication 124 ms  exposed 0.8 ms  hidden 123 ms");
  EXPECT_EQ(fit(sync_fields(record), 40), "  comm 124 ms exp 0.8 ms hid 123 ms");
  EXPECT_EQ(fit(sync_fields(record), 20), "  comm 124 ms");
}

TEST(BucketLine, NamesAllParametersWhereThereIsRoom) {
  EXPECT_EQ(format_bucket(bucket()), "  bucket 2  1 MiB  ring  0.42 ms hidden  head.weight, block.3.bias, wte.weight");
  BucketRecord late = bucket();
  late.hidden = false;
  EXPECT_THAT(format_bucket(late), HasSubstr("0.42 ms exposed"));
}

TEST(BucketLine, CountsTheParametersThatHaveNoRoom) {
  const std::string whole = format_bucket(bucket());
  EXPECT_EQ(format_bucket(bucket(), whole.size()), whole);
  EXPECT_THAT(format_bucket(bucket(), whole.size() - 1), EndsWith("hidden  head.weight, block.3.bias and 1 more"));
  EXPECT_THAT(format_bucket(bucket(), 55), EndsWith("hidden  3 parameters"));
  for (std::size_t columns = 55; columns < 90; ++columns) EXPECT_LE(format_bucket(bucket(), columns).size(), columns);
}

TEST(BucketLine, IsBrokenBeforeItsTimeWhereItIsTooLong) {
  BucketRecord record = bucket();
  record.operation = "reduce_scatter";
  record.block = "transformer.layer.5";
  record.steps = 7;
  record.wire_bytes = 1 << 20;
  record.predicted_ms = 0.4;
  EXPECT_EQ(format_bucket(record, 80),
            "  bucket 2  reduce_scatter of transformer.layer.5  1 MiB  ring, 7 steps, 1 MiB sent\n"
            "    0.42 ms hidden, predicted 0.40 ms (-4.1 %)  head.weight and 2 more");
  EXPECT_THAT(format_bucket(record), Not(HasSubstr("\n"))) << "a pipe has no columns";
  record.block.clear();
  for (std::size_t columns = 62; columns < 150; ++columns) {
    const std::string lines = format_bucket(record, columns);
    const std::size_t end = lines.find('\n');
    EXPECT_LE(end == std::string::npos ? lines.size() : std::max(end, lines.size() - end - 1), columns) << lines;
  }
}

TEST(BucketLine, SaysTheCollectiveAndHowItsTimeWasPredicted) {
  BucketRecord record = bucket();
  record.operation = "all_gather";
  record.block = "blocks.3";
  record.steps = 6;
  record.wire_bytes = 3 << 19;
  EXPECT_EQ(format_bucket(record, 105),
            "  bucket 2  all_gather of blocks.3  1 MiB  ring, 6 steps, 1.50 MiB sent  0.42 ms hidden  3 parameters");
  record.phase = "forward";
  EXPECT_THAT(format_bucket(record), HasSubstr("bucket 2  all_gather of blocks.3 in forward  1 MiB"));
  record.operation = "reduce_scatter";
  EXPECT_THAT(format_bucket(record), HasSubstr("bucket 2  reduce_scatter of blocks.3  1 MiB"));
  record.operation.clear();
  record.steps = 1;
  record.predicted_ms = 0.4;
  EXPECT_THAT(
      format_bucket(record),
      HasSubstr("  bucket 2  of blocks.3  1 MiB  ring, 1 step, 1.50 MiB sent  0.42 ms hidden, predicted 0.40 ms "
                "(-4.1 %)  head.weight"));
  record.milliseconds = 0;
  EXPECT_THAT(format_bucket(record), HasSubstr("0.00 ms hidden, predicted 0.40 ms  head.weight"));
}

TEST(JsonLine, HasTheFieldsByTheirNames) {
  const auto parsed = nlohmann::json::parse(to_json(example()));
  EXPECT_EQ(parsed["iteration"], 20);
  EXPECT_EQ(parsed["loss"], 2.34561);
  EXPECT_EQ(parsed["gradient_norm"], 0.981);
  EXPECT_EQ(parsed["learning_rate"], 3e-4);
  EXPECT_EQ(parsed["tokens_per_second"], 12345.4);
  EXPECT_EQ(parsed["compute_ms"], 10.12);
  EXPECT_EQ(parsed["exposed_ms"], 0.8);
  EXPECT_EQ(parsed["bytes"], 3 << 19);
  EXPECT_EQ(parsed["algorithm"], "direct");
  EXPECT_FALSE(parsed.contains("validation_loss"));
  EXPECT_FALSE(parsed.contains("buckets"));
}

TEST(JsonLine, HasValidationLossAndBucketsWhereThereAreAny) {
  IterationRecord record = example();
  record.validation_loss = 1.875;
  record.buckets = {bucket(), bucket()};
  const std::string line = to_json(record);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["validation_loss"], 1.875);
  ASSERT_EQ(parsed["buckets"].size(), 2u);
  const nlohmann::json expected{{"index", 2},
                                {"parameters", bucket().parameters},
                                {"bytes", 1 << 20},
                                {"algorithm", "ring"},
                                {"milliseconds", 0.417},
                                {"hidden", true}};
  EXPECT_EQ(parsed["buckets"][1], expected);
}

TEST(JsonLine, HasWhatIsOptionalWhereThereIsAny) {
  IterationRecord record = example();
  for (const char* name : {"hidden_ms", "data_wait_ms", "training_accuracy", "validation_accuracy", "buckets"}) {
    EXPECT_FALSE(nlohmann::json::parse(to_json(record)).contains(name)) << name;
  }
  EXPECT_EQ(nlohmann::json::parse(to_json(record))["communication_ms"], 0.8) << "all of it is exposed";
  record.hidden_ms = 3;
  record.data_wait_ms = 2;
  record.training_accuracy = 0.75;
  record.validation_accuracy = 0;
  record.buckets = {bucket()};
  record.buckets[0].operation = "reduce_scatter";
  record.buckets[0].block = "blocks.3";
  record.buckets[0].phase = "backward";
  record.buckets[0].steps = 3;
  record.buckets[0].wire_bytes = 4096;
  record.buckets[0].predicted_ms = 0.25;
  const auto parsed = nlohmann::json::parse(to_json(record, "images"));
  EXPECT_EQ(parsed["images_per_second"], 12345.4);
  EXPECT_FALSE(parsed.contains("tokens_per_second"));
  EXPECT_EQ(parsed["hidden_ms"], 3);
  EXPECT_EQ(parsed["communication_ms"], 3.8);
  EXPECT_EQ(parsed["data_wait_ms"], 2);
  EXPECT_EQ(parsed["training_accuracy"], 0.75);
  EXPECT_EQ(parsed["validation_accuracy"], 0);
  EXPECT_EQ(parsed["buckets"][0]["operation"], "reduce_scatter");
  EXPECT_EQ(parsed["buckets"][0]["block"], "blocks.3");
  EXPECT_EQ(parsed["buckets"][0]["phase"], "backward");
  EXPECT_EQ(parsed["buckets"][0]["steps"], 3);
  EXPECT_EQ(parsed["buckets"][0]["wire_bytes"], 4096);
  EXPECT_EQ(parsed["buckets"][0]["predicted_ms"], 0.25);
}

TEST(JsonLine, IsJsonWhateverTheRecordHolds) {
  IterationRecord record = example();
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.gradient_norm = -std::numeric_limits<double>::infinity();
  record.algorithm = "no \xff utf-8 \"quoted\"\n";
  const auto parsed = nlohmann::json::parse(to_json(record));
  EXPECT_TRUE(parsed["loss"].is_null());
  EXPECT_TRUE(parsed["gradient_norm"].is_null());
  EXPECT_EQ(parsed["algorithm"], "no \xef\xbf\xbd utf-8 \"quoted\"\n");
}

}  // namespace lockstep
