#include "report/html.h"

#include "base/atomic_file.h"
#include "report/html_example.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Html : public testing_support::TemporaryFolder {
 protected:
  std::string written(const ReportPage& page) const {
    write_report(page, folder_ / "report.html");
    return read_file(folder_ / "report.html");
  }
  json data(const ReportPage& page) const {
    const std::string text = written(page), open = R"(<script type="application/json" id="data">)";
    const std::size_t begin = text.find(open) + open.size();
    return json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  }
  // A tile as "label: value (note)".
  static std::string tile(const json& data, const std::string& label) {
    for (const json& tile : data["tiles"]) {
      if (tile["label"] == label)
        return tile["value"].get<std::string>() + " (" + tile["note"].get<std::string>() + ")";
    }
    return "none";
  }
};

TEST_F(Html, HoldsEveryIteration) {
  const json data = this->data(example_report(200));
  EXPECT_EQ(data["each"], 1);
  for (const auto& [name, column] : data["columns"].items()) EXPECT_EQ(column.size(), 200u) << name;
  EXPECT_EQ(data["columns"].size(), 7u);
  EXPECT_EQ(data["columns"]["iteration"][199], 200);
  EXPECT_EQ(data["columns"]["items_per_second"][6], 10007);
  EXPECT_THAT(data["validation"]["iteration"], ElementsAre(50, 100, 150, 200));
  EXPECT_NEAR(data["validation"]["loss"][3].get<double>(), 2.26348, 1e-5);
}

TEST_F(Html, SumsUpInTiles) {
  const json data = this->data(example_report(200));
  EXPECT_EQ(tile(data, "Training loss"), "2.0135 (3.9506 at iteration 1)");
  EXPECT_EQ(tile(data, "Validation loss"), "2.2635 (its best)");
  EXPECT_EQ(tile(data, "Throughput"), "10,101 (tokens/s, median)");
  EXPECT_EQ(tile(data, "Exposed time"), "10.0 % (median 1.00 ms)");
  EXPECT_EQ(tile(data, "Ranks"), "2 (data parallel)");
  EXPECT_EQ(tile(data, "Parameters"), "804,096 (trained values)");
  EXPECT_EQ(tile(data, "Time"), "1m 01s (200 iterations)");
  ReportPage with_gaps = example_report(200);
  with_gaps.iterations.erase(with_gaps.iterations.begin() + 1, with_gaps.iterations.end() - 1);
  EXPECT_EQ(tile(this->data(with_gaps), "Time"), "1m 01s (200 iterations)") << "not every one has a record";
}

TEST_F(Html, SaysWhereTheValidationLossWasBest) {
  ReportPage page = example_report(100);
  page.iterations.back().validation_loss = 3.5;
  EXPECT_EQ(tile(data(page), "Validation loss"), "3.5000 (best 2.4142 at iteration 50)");
}

TEST_F(Html, AveragesWhatABucketDid) {
  const json buckets = data(example_report(200))["buckets"];
  ASSERT_EQ(buckets.size(), 2u);
  const json first{{"index", 0},        {"size", "1 MiB"},   {"algorithm", "direct"},
                   {"time", "0.50 ms"}, {"hidden", "100 %"}, {"parameters", {"head.weight", "head.bias"}}};
  EXPECT_EQ(buckets[0], first);
  EXPECT_EQ(buckets[1]["time"], "0.30 ms");
  EXPECT_EQ(buckets[1]["hidden"], "50 %");
}

TEST_F(Html, HoldsAccuracyHiddenTimeAndDataWaitWhereThereAreAny) {
  ReportPage page = full_report(200);
  page.iterations[0].training_accuracy.reset();
  page.iterations[49].validation_loss.reset();
  const json data = this->data(page);
  EXPECT_EQ(data["columns"]["hidden_ms"][3], 2.5);
  EXPECT_EQ(data["columns"]["data_wait_ms"][3], 0.75);
  EXPECT_TRUE(data["columns"]["accuracy"][0].is_null());
  EXPECT_NEAR(data["columns"]["accuracy"][199].get<double>(), 74.8316, 1e-4) << "percent";
  EXPECT_TRUE(data["validation"]["loss"][0].is_null());
  EXPECT_EQ(data["validation"]["accuracy"].size(), 4u);
  EXPECT_EQ(tile(data, "Validation accuracy"), "66.71 % (its best)");
  EXPECT_EQ(tile(data, "Throughput"), "10,101 (sentences/s, median)");
  EXPECT_EQ(tile(data, "Exposed time"), "9.3 % (median 1.00 ms)");
}

TEST_F(Html, ABucketsTimeStandsBesideItsPrediction) {
  ReportPage page = full_report(20);
  page.iterations[19].buckets[1].predicted_ms.reset();
  BucketRecord gather = page.iterations[19].buckets[0];
  gather.operation = "all_gather";
  gather.block = "blocks.0";
  page.iterations[19].buckets.push_back(gather);
  const json buckets = data(page)["buckets"];
  ASSERT_EQ(buckets.size(), 3u) << "another operation of the same bucket is a line of its own";
  EXPECT_EQ(buckets[0]["operation"], "all_reduce");
  EXPECT_EQ(buckets[0]["predicted"], "0.45 ms");
  EXPECT_EQ(buckets[0]["error"], "-10.0 %");
  EXPECT_EQ(buckets[0]["steps"], 2);
  EXPECT_EQ(buckets[0]["sent"], "1.50 MiB");
  EXPECT_EQ(buckets[1]["operation"], "all_gather");
  EXPECT_EQ(buckets[1]["block"], "blocks.0");
  EXPECT_EQ(buckets[2]["time"], "0.30 ms");
  EXPECT_EQ(buckets[2]["error"], "+12.5 %") << "against the one time that was predicted, 0.40 ms";
}

TEST_F(Html, GathersOfForwardAndOfBackwardAreLinesOfTheirOwn) {
  ReportPage page = example_report(10);
  BucketRecord gather{
      .index = 0, .milliseconds = 1, .operation = "all_gather", .block = "blocks.0", .phase = "forward"};
  page.iterations[9].buckets = {gather};
  gather.phase = "backward";
  gather.milliseconds = 3;
  page.iterations[9].buckets.push_back(gather);
  const json buckets = data(page)["buckets"];
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0]["phase"], "backward");
  EXPECT_EQ(buckets[0]["time"], "3.00 ms");
  EXPECT_EQ(buckets[1]["phase"], "forward");
  EXPECT_EQ(buckets[1]["time"], "1.00 ms");
}

TEST_F(Html, TheTimelineCountsFromItsFirstSpan) {
  ReportPage page;
  page.timeline = {{1, "forward", "compute", 5100, 5300},
                   {0, "bucket 0", "communication", 5000, 5500},
                   {1, "clip", "compute", 5300, 5400}};
  EXPECT_EQ(data(page)["timeline"], json::parse(R"([[1, "forward", "compute", 100, 300],
                                                    [0, "bucket 0", "communication", 0, 500],
                                                    [1, "clip", "compute", 300, 400]])"));
  page.memory = {{"gathered", 10, 12}};
  EXPECT_EQ(data(page)["memory"], json::parse(R"([{"kind": "gathered", "predicted": 10, "measured": 12}])"));
}

TEST_F(Html, ALongTrainingStaysLight) {
  ReportPage page = example_report(100001);
  page.iterations[7].training_accuracy = 0.5;
  const json data = this->data(page);
  const std::size_t points = data["columns"]["loss"].size();
  EXPECT_LE(points, 2000u);
  EXPECT_GE(points, 1000u);
  EXPECT_EQ(data["each"], 51);
  EXPECT_EQ(data["columns"]["iteration"].back(), 100001);
  EXPECT_EQ(data["columns"]["items_per_second"][0], 10026) << "the mean of iterations 1 to 51";
  EXPECT_EQ(data["columns"]["accuracy"][0], 50) << "of those that have one";
  EXPECT_TRUE(data["columns"]["accuracy"][1].is_null());
  EXPECT_LT(fs::file_size(folder_ / "report.html"), 250000u);
}

TEST_F(Html, ATrainingThatCameToNothingHasAReport) {
  EXPECT_EQ(data(ReportPage{})["columns"]["loss"].size(), 0u);
  ReportPage page = example_report(3);
  page.iterations[1].loss = std::numeric_limits<double>::quiet_NaN();
  page.iterations[2].loss = std::numeric_limits<double>::infinity();
  for (IterationRecord& record : page.iterations) record.items_per_second = std::numeric_limits<double>::quiet_NaN();
  const json data = this->data(page);
  EXPECT_THAT(data["columns"]["loss"], ElementsAre(testing::Not(nullptr), nullptr, nullptr));
  EXPECT_EQ(tile(data, "Training loss"), "inf (2.3778 at iteration 1)");
  EXPECT_EQ(tile(data, "Throughput"), "none");
}

TEST_F(Html, TextOfAnyKindIsNeitherMarkupNorAPlaceToFillIn) {
  const std::string hostile = "</script></title><script>alert(1)</script>{{data}}{{title}}&amp;<!--\xff\"'";
  const std::string shown = "</script></title><script>alert(1)</script>{{data}}{{title}}&amp;<!--\xef\xbf\xbd\"'";
  ReportPage page = example_report(20);
  page.run.title = page.run.command = page.sample = page.trace_path = hostile;
  page.run.settings = {{hostile, hostile}};
  page.iterations[9].buckets[0].parameters = {hostile};
  page.iterations[19].buckets[0].algorithm = hostile;
  const json data = this->data(page);
  for (const char* name : {"title", "command", "sample", "trace"}) EXPECT_EQ(data[name], shown) << name;
  EXPECT_EQ(data["settings"][0], json::array({shown, shown}));
  EXPECT_EQ(data["buckets"][0]["algorithm"], shown);
  const std::string text = written(page);
  EXPECT_THAT(
      text,
      HasSubstr("<title>&lt;/script&gt;&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{data}}{{title}}&amp;amp;"));
  EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
}

TEST_F(Html, AFolderThatIsNotThereIsAnError) {
  try {
    write_report(example_report(3), folder_ / "missing" / "report.html");
    FAIL() << "wrote into a folder that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), HasSubstr("missing/report.html"));
  }
}

}  // namespace lockstep
