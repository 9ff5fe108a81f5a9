// `lockstep lab` as a person uses it, at the smallest settings: real trainings, real pages; and what else needs a
// calibration.
#include "base/units.h"
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>

namespace lockstep {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::Command;
using testing_support::Result;
using testing_support::run_command;

namespace fs = std::filesystem;

class LabCommand : public testing_support::TemporaryFolder {
 protected:
  using Arguments = std::vector<std::string>;

  /// One calibration for all of them.
  static void SetUpTestSuite() {
    cache_ = fs::temp_directory_path() / ("lockstep-test-cache-" + std::to_string(::getpid()));
    Command command({LOCKSTEP_PROGRAM, "calibrate", "--fast", "-n", "2"}, {.environment = environment()});
    ASSERT_EQ(command.wait(), 0) << command.errors();
  }
  static void TearDownTestSuite() { fs::remove_all(cache_); }
  static Arguments environment() { return {"XDG_CACHE_HOME=" + cache_.string()}; }

  Result lab(const Arguments& arguments) {
    Arguments all = {LOCKSTEP_PROGRAM, "lab"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--out", page_, "--iterations", "2", "--rounds", "1"});
    return run_command(all, {.environment = environment()});
  }
  /// What sst2 trains on; its folder.
  fs::path write_reviews() {
    fs::create_directories(folder_ / "data");
    write("data/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ngood\nbad\nfilm\n", kReadWrite);
    write("data/train.tsv", "sentence\tlabel\ngood film\t1\nbad film\t0\nbad\t0\ngood\t1\n", kReadWrite);
    write("data/dev.tsv", "sentence\tlabel\ngood good film\t1\nbad bad\t0\n", kReadWrite);
    return folder_ / "data";
  }
  /// The training processes that write into this test's folder, but for those that only check their input.
  int trainings() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string command = read(entry.path() / "cmdline");
      const auto has = [&](const std::string& part) { return command.find(part) != std::string::npos; };
      if (has("lockstep-train") && has(folder_) && !has("--check")) ++count;
    }
    return count;
  }
  /// What the page shows.
  json page() const {
    const std::string text = read(page_), open = R"(<script type="application/json" id="data">)";
    const std::size_t begin = text.find(open);
    if (begin == std::string::npos) return {};
    return json::parse(text.substr(begin + open.size(), text.find("</script>", begin) - begin - open.size()));
  }
  static json chart(const json& page, const std::string& title) {
    for (const json& one : page["charts"]) {
      if (one["title"] == title) return one;
    }
    ADD_FAILURE() << "no chart " << title;
    return {};
  }
  /// Every point of every curve is measured and predicted, and there are so many.
  static void expect_curves(const json& chart, std::size_t curves, std::size_t points) {
    ASSERT_EQ(chart["curves"].size(), curves) << chart["title"];
    for (const json& curve : chart["curves"]) {
      EXPECT_EQ(curve["measured"].size(), points) << curve;
      EXPECT_EQ(curve["predicted"].size(), points) << curve;
      for (const char* kind : {"measured", "predicted"}) {
        for (const json& point : curve[kind]) EXPECT_GT(point[1], 0.0) << chart["title"] << curve;
      }
      EXPECT_NE(chart["words"], "");
    }
  }
  static std::string text_of(const json& page) {
    std::string text;
    for (const json& paragraph : page["paragraphs"]) text += paragraph.get<std::string>() + "\n";
    return text;
  }
  static void expect_errors(const json& page) {
    EXPECT_THAT(text_of(page), HasSubstr("predictions of times have a median error of"));
    EXPECT_EQ(page["tables"].back()["title"], "Errors of the predictions of times");
    EXPECT_EQ(page["tables"].back()["rows"].back()[0], "all");
  }
  /// The shaped link's part of a page: there, or a sentence that says why not.
  static bool has_link(const json& page) {
    for (const json& paragraph : page["paragraphs"]) {
      if (paragraph.get<std::string>().find("A shaped link cannot be made here: ") == 0) return false;
    }
    return true;
  }

  static constexpr fs::perms kReadWrite = fs::perms::owner_read | fs::perms::owner_write;
  inline static fs::path cache_;
  fs::path page_ = folder_ / "pages" / "page.html";
  const Arguments small_ = {"--layers", "1", "--heads", "2", "--width", "24", "--context", "8", "--batch", "12"};
};

TEST_F(LabCommand, BucketsDrawsIterationTimeAgainstBucketSize) {
  Arguments arguments = {"buckets", "--sizes", "4KiB,64KiB", "--rate", "1Gbit/s"};
  arguments.insert(arguments.end(), small_.begin(), small_.end());
  const Result result = lab(arguments);
  ASSERT_EQ(result.code, 0) << result.errors;
  const json page = this->page();
  expect_curves(chart(page, "Iteration time, shared memory"), 2, 2);
  expect_curves(chart(page, "Communication alone, behind backward, shared memory"), 1, 2);
  if (has_link(page)) expect_curves(chart(page, "Iteration time, TCP at 1 Gbit/s"), 2, 2);
  expect_errors(page);
  EXPECT_THAT(text_of(page), AllOf(HasSubstr("each iteration's time is the best of 1 round"),
                                   HasSubstr("Communication alone is the least of all iterations")));
  EXPECT_THAT(result.output, AllOf(HasSubstr("The fastest buckets are those of"), HasSubstr(page_.string())));
}

TEST_F(LabCommand, ScalingDrawsAlgorithmsRanksAndEfficiency) {
  Arguments arguments = {"scaling", "-n", "2", "--sizes", "300,3000", "--algorithms", "ring,tree"};
  arguments.insert(arguments.end(), small_.begin(), small_.end());
  const Result result = lab(arguments);
  ASSERT_EQ(result.code, 0) << result.errors;
  const json page = this->page();
  expect_curves(chart(page, "All-reduce on 2 ranks, shared memory"), 2, 3);
  const bool link = has_link(page);
  if (link) expect_curves(chart(page, "All-reduce on 2 ranks, TCP at 1 Gbit/s"), 2, 3);
  expect_curves(chart(page, "Scaling efficiency, T(1) / (p T(p))"), link ? 2 : 1, 2);
  expect_errors(page);
  EXPECT_THAT(text_of(page), HasSubstr("An all-reduce alone is the best of the rounds' medians"));
}

TEST_F(LabCommand, ShardingDrawsMemoryBytesAndTime) {
  const fs::path data = write_reviews();
  const Result result = lab({"sharding", "--data", data, "--preset", "tiny", "--batch", "4"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const json page = this->page();
  ASSERT_EQ(page["bars"].size(), 4u);
  const auto bytes = [&](std::size_t stage, std::size_t kind) {
    return page["bars"][stage]["rows"][kind]["measured"].get<double>();
  };
  EXPECT_NEAR(bytes(1, 2) / bytes(0, 2), 0.5, 0.01) << "the optimizer's state is halved at stage 1";
  EXPECT_NEAR(bytes(2, 1) / bytes(0, 1), 0.5, 0.01) << "gradients at stage 2";
  EXPECT_LT(bytes(3, 0), bytes(0, 0)) << "parameters at stage 3";
  for (const std::size_t stage : {0, 1}) EXPECT_EQ(page["bars"][stage]["rows"].size(), 3U);
  for (const std::size_t stage : {2, 3}) {
    EXPECT_EQ(page["bars"][stage]["rows"].at(3)["kind"], "communication buffers");
    EXPECT_GE(bytes(stage, 3), bytes(0, 1)) << "behind backward, all gradients wait in them";
  }
  expect_curves(chart(page, "Memory of a rank between updates"), 1, 4);
  expect_curves(chart(page, "Bytes that a rank sends for an iteration"), 1, 4);
  expect_curves(chart(page, "Time"), 2, 4);
  expect_errors(page);
}

TEST_F(LabCommand, SaysInOneSentenceWhatIsWrongAndWritesNothing) {
  const auto refused = [&](const Arguments& arguments) {
    const Result result = lab(arguments);
    EXPECT_EQ(result.code, 2) << result.errors;
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_FALSE(fs::exists(page_.parent_path()));
    return result.errors;
  };
  EXPECT_THAT(refused({"buckets", "-n", "1"}), HasSubstr("2 ranks or more"));
  EXPECT_THAT(refused({"buckets", "--training", "digit"}), HasSubstr("Did you mean 'digits'?"));
  EXPECT_THAT(refused({"buckets", "--sizes", "much"}), HasSubstr("much"));
  EXPECT_THAT(refused({"buckets", "--rate", "fast"}), HasSubstr("fast"));
  EXPECT_THAT(refused({"buckets", "--rate", "1Gbit/s", "--no-link"}),
              HasSubstr("--rate is of the link that --no-link leaves out"));
  EXPECT_THAT(refused({"buckets", "--no-link", "--layers", "0"}), HasSubstr("--layers must be at least 1"));
  EXPECT_THAT(refused({"scaling", "--algorithms", "rind"}), HasSubstr("Did you mean 'ring'?"));
  EXPECT_THAT(refused({"buckets", "--check"}), HasSubstr("leave out --check"));
  EXPECT_THAT(refused({"sharding"}), HasSubstr("--data is needed"));
  EXPECT_THAT(refused({"sharding", "--training", "text"}),
              AllOf(HasSubstr("text has no --stage to sweep"), HasSubstr("--training sst2 or digits")));
  EXPECT_THAT(refused({"sharding", "stray"}), HasSubstr("'stray' is no flag"));
}

TEST_F(LabCommand, SaysWhatIsWrongWithTheInputBeforeAnythingIsMeasured) {
  const auto refused = [&](const Arguments& arguments) {
    Arguments all = {LOCKSTEP_PROGRAM, "lab"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--out", page_});
    // Nothing is calibrated for it: a study that went on would say that it does so.
    const Result result = run_command(all, {.environment = {"XDG_CACHE_HOME=" + (folder_ / "cache").string()}});
    EXPECT_EQ(result.code, 2) << result.errors;
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_FALSE(fs::exists(page_.parent_path()));
    EXPECT_FALSE(fs::exists(folder_ / "cache"));
    return result.errors;
  };
  const fs::path data = write_reviews();
  write("data/train.tsv", "sentence\tlabel\ngood film\tyes\n", kReadWrite);
  EXPECT_THAT(refused({"sharding", "--data", data, "--preset", "tiny"}), HasSubstr("train.tsv: line 2"));
  EXPECT_THAT(refused({"buckets", "--training", "sst2", "--data", data, "--preset", "tiny"}),
              HasSubstr("train.tsv: line 2"));
  write_reviews();
  write("data/config.json", R"({"model_type": "gpt2"})", kReadWrite);
  write("data/model.safetensors", "cut", kReadWrite);
  EXPECT_THAT(refused({"sharding", "--data", data, "--weights", data}), HasSubstr("its model_type is 'gpt2'"));
  EXPECT_THAT(refused({"scaling", "-n", "2", "--data", folder_ / "none.txt"}), HasSubstr("none.txt"));
}

TEST_F(LabCommand, OffersTheTrainingsThatAStudyTakes) {
  const auto help = [](const char* study) {
    return run_command({LOCKSTEP_PROGRAM, "lab", study, "--help"}, {.environment = environment()}).output;
  };
  EXPECT_THAT(help("buckets"), HasSubstr("text, sst2 or digits"));
  EXPECT_THAT(help("sharding"), AllOf(HasSubstr("sst2 or digits"), Not(HasSubstr("text, sst2"))));
}

TEST_F(LabCommand, EndsWithAllThatItStarted) {
  Arguments environment = LabCommand::environment();
  environment.push_back("TMPDIR=" + folder_.string());
  Command command({LOCKSTEP_PROGRAM, "lab", "buckets", "--out", page_, "--no-link", "--iterations", "100000"},
                  {.environment = environment});
  ASSERT_TRUE(testing_support::eventually([&] { return trainings() >= 2; })) << command.errors();
  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 128 + SIGINT) << command.errors();
  EXPECT_THAT(command.errors(), HasSubstr("interrupted; no page was written"));
  EXPECT_EQ(trainings(), 0);
  EXPECT_FALSE(fs::exists(page_));
  EXPECT_TRUE(fs::is_empty(folder_));
}

/// A training, but one that says what was predicted by the calibration.
TEST_F(LabCommand, AtStageThreeEachOperationOfATrainingStandsBesideItsPrediction) {
  const fs::path lines = folder_ / "log.jsonl", out = folder_ / "out";
  const Result result =
      run_command({LOCKSTEP_PROGRAM, "train", "sst2", "-n", "2", "--data", write_reviews(), "--out", out, "--batch=4",
                   "--preset=small", "--stage=3", "--iterations=6", "--log-sync", "--every=1", "--jsonl", lines},
                  {.environment = environment()});
  ASSERT_EQ(result.code, 0) << result.errors;
  std::istringstream printed(result.output), log(read(lines));
  std::multiset<std::string> seen;
  int errors = 0;
  for (std::string line; std::getline(log, line);) {
    const auto record = json::parse(line);
    for (const auto& bucket : record.at("buckets")) {
      std::string said;
      while (!said.starts_with("  bucket ")) ASSERT_TRUE(std::getline(printed, said)) << bucket;
      const double bytes = bucket["bytes"], sent = bucket.at("wire_bytes"), predicted = bucket.at("predicted_ms");
      const double measured = bucket["milliseconds"];
      const std::string operation = bucket["operation"], block = bucket.value("block", ""), phase = bucket["phase"];
      EXPECT_EQ(bucket["steps"], 1) << "both halves of two ranks are one message away";
      EXPECT_NEAR(sent, bytes / 2, 4) << bucket;
      EXPECT_GT(predicted, 0) << bucket;
      EXPECT_THAT(said, AllOf(HasSubstr("  " + operation + (block.empty() ? " " : " of " + block + " ")),
                              HasSubstr("1 step, " + format_bytes(static_cast<std::uint64_t>(sent)) + " sent  "),
                              HasSubstr(fmt::format("{:.2f} ms ", measured)),
                              HasSubstr(fmt::format(", predicted {:.2f} ms ", predicted))));
      if (measured > 0) {  // else there is nothing to compare
        EXPECT_THAT(said, HasSubstr(fmt::format(" ({:+.1f} %)  ", 100 * ((predicted - measured) / measured))));
        ++errors;
      }
      if (record["iteration"] == 6 && !block.empty()) seen.insert(block + ": " + operation + " in " + phase);
    }
  }
  EXPECT_GT(errors, 0);
  std::multiset<std::string> expected;
  for (const std::string block : {"distilbert.transformer.layer.0", "distilbert.transformer.layer.1"}) {
    for (const char* what : {"all_gather in forward", "all_gather in backward", "reduce_scatter in backward"}) {
      expected.insert(block + ": " + what);
    }
  }
  EXPECT_EQ(seen, expected);
  EXPECT_THAT(read(out / "trace.json"),
              AllOf(HasSubstr("\"predicted\""), HasSubstr("\"measured\""), HasSubstr("\"error\""),
                    HasSubstr("\"block\":\"distilbert.transformer.layer.0\"")));
}

}  // namespace lockstep
