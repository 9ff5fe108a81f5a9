// `lockstep train text` as a person uses it: real processes, a real text, and everything that can be wrong with the
// input.
#include "base/sanitizers_for_tests.h"
#include "report/tensorboard_for_tests.h"
#include "tests/processes/command.h"
#include "tests/processes/small_disk.h"
#include "tests/processes/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::kUnderAddressSanitizer;
using testing_support::Result;
using testing_support::run_command;

namespace fs = std::filesystem;

class TextTraining : public testing_support::TemporaryFolder {
 protected:
  using Arguments = std::vector<std::string>;

  TextTraining() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "the quick brown fox jumps over the lazy dog\n";
    text_ = write("text.txt", text, fs::perms::owner_all);
    out_ = folder_ / "out";
  }

  static Result start(const Arguments& arguments) {
    return run_command(arguments, {.environment = {"OMP_NUM_THREADS=1"}});
  }
  /// A model that trains in no time; later flags override earlier ones.
  Arguments arguments(int ranks, const Arguments& more) const {
    Arguments all = {LOCKSTEP_PROGRAM, "train", "text", "-n", std::to_string(ranks), "--data", text_, "--out", out_};
    for (const char* flag : {"--layers=2", "--heads=2", "--width=16", "--context=16", "--batch=5"})
      all.emplace_back(flag);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Result train(int ranks, const Arguments& more) const { return start(arguments(ranks, more)); }

  std::set<std::string> files() const {
    std::set<std::string> names;
    if (!fs::exists(out_)) return names;
    for (const auto& entry : fs::directory_iterator(out_)) names.insert(entry.path().filename());
    return names;
  }
  void expect_refused(const Result& result, const std::string& why) const {
    EXPECT_EQ(result.code, 2) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(why));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_THAT(result.output, IsEmpty());
  }

  /// Trains for a few iterations with event files; their lines of JSON.
  std::vector<nlohmann::json> train_with_events() const {
    const fs::path lines = folder_ / "log.jsonl";
    const Result result =
        train(2, {"--iterations=5", "--eval-every=2", "--tensorboard", folder_ / "events", "--jsonl", lines});
    EXPECT_EQ(result.code, 0) << result.errors;
    std::vector<nlohmann::json> records;
    std::istringstream text(read(lines));
    for (std::string line; std::getline(text, line);) records.push_back(nlohmann::json::parse(line));
    EXPECT_EQ(records.size(), 5U);
    return records;
  }
  /// The only one, of rank 0.
  fs::path event_file() const {
    fs::path file;
    for (const auto& entry : fs::directory_iterator(folder_ / "events")) {
      EXPECT_EQ(file, "");
      file = entry;
    }
    return file;
  }

  fs::path text_, out_;
};

TEST_F(TextTraining, WhatNobodyCanReadIsAnErrorAndTheFilesAreThere) {
  Arguments words = arguments(1, {"--iterations=2"});
  words.insert(words.begin(), {"sh", "-c", "exec \"$0\" \"$@\" >/dev/full"});
  const Result result = start(words);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("No space left on device"));
  EXPECT_THAT(files(), testing::IsSupersetOf({"checkpoint.pt", "report.html"}));
}

TEST_F(TextTraining, EndsWithACheckpointAReportATraceAndASample) {
  const Result result =
      train(2, {"--iterations=12", "--eval-every=5", "--sample-length=20", "--prompt=fox", "--every=3"});
  ASSERT_EQ(result.code, 0) << result.errors;
  for (const char* said : {"iteration 1 ", "iteration 3 ", "iteration 12", "validation loss", "loss", "fox",
                           "out/checkpoint.pt", "out/report.html", "out/trace.json", "all iterations", "2 ranks"}) {
    EXPECT_THAT(result.output, HasSubstr(said));
  }
  EXPECT_THAT(result.output, AllOf(Not(HasSubstr("iteration 2 ")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_EQ(files(), (std::set<std::string>{"checkpoint.pt", "report.html", "summary.json", "trace.json"}));
  EXPECT_THAT(read(out_ / "report.html"), HasSubstr("</html>"));
}

TEST_F(TextTraining, TheTraceHasARowForEachRankAndItsBuckets) {
  ASSERT_EQ(train(2, {"--iterations=3"}).code, 0);
  const auto trace = nlohmann::json::parse(read(out_ / "trace.json"));
  std::map<std::string, std::set<nlohmann::json>> ranks_of;
  for (const auto& event : trace.at("traceEvents")) ranks_of[event.at("name")].insert(event.at("pid"));
  for (const char* name : {"iteration", "data", "forward", "backward", "clip", "optimizer", "evaluation", "bucket 0"}) {
    EXPECT_EQ(ranks_of[name].size(), 2U) << name;
  }
}

TEST_F(TextTraining, JsonLinesAndBucketsSayWhatHappened) {
  const fs::path lines = folder_ / "log.jsonl";
  const Result result = train(2, {"--iterations=4", "--log-sync", "--jsonl", lines});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("token_embedding.weight"));
  std::istringstream text(read(lines));
  int iteration = 0;
  for (std::string line; std::getline(text, line);) {
    const auto record = nlohmann::json::parse(line);
    EXPECT_EQ(record.at("iteration"), ++iteration);
    EXPECT_GT(record.at("loss"), 0);
    EXPECT_GT(record.at("gradient_norm"), 0);
    EXPECT_GT(record.at("tokens_per_second"), 0);
    EXPECT_GT(record.at("bytes"), 0);
    EXPECT_GT(record.at("data_wait_ms"), 0);
    EXPECT_GT(record.at("communication_ms"), 0);
    EXPECT_FALSE(record.at("buckets").empty());
  }
  EXPECT_EQ(iteration, 4);
  EXPECT_THAT(result.output, AllOf(HasSubstr("\n  communication "), HasSubstr(" ms  hidden ")));
}

TEST_F(TextTraining, EventFilesHoldTheLossOfEachIteration) {
  const auto records = train_with_events();
  const auto events = events_in(read(event_file()));
  ASSERT_EQ(events.size(), 1 + records.size()) << "the first says of which version the others are";
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(step_of(events[i + 1]), records[i].at("iteration").get<std::uint64_t>());
    EXPECT_EQ(scalar_in(events[i + 1], "loss/training"), records[i].at("loss").get<float>());
    EXPECT_EQ(scalar_in(events[i + 1], "loss/validation").has_value(), records[i].contains("validation_loss")) << i;
  }
  EXPECT_EQ(scalar_in(events.back(), "loss/validation"), records.back().at("validation_loss").get<float>());
}

TEST_F(TextTraining, TensorboardsOwnReaderReadsTheLossOfEachIteration) {
  if (!has_tensorboard()) GTEST_SKIP() << kNoTensorboard;
  const auto records = train_with_events();
  const auto scalars = read_by_tensorboard(event_file());
  ASSERT_EQ(scalars.at("loss/training").size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& event = scalars["loss/training"][i];
    EXPECT_EQ(event[0], records[i].at("iteration"));
    EXPECT_EQ(std::stof(event[1].get<std::string>()), records[i].at("loss").get<float>());
  }
}

TEST_F(TextTraining, TheSummaryHasTheMemoryOfEachKind) {
  ASSERT_EQ(train(2, {"--iterations=2"}).code, 0);
  const auto summary = nlohmann::json::parse(read(out_ / "summary.json"));
  const int parameters = 4 * summary.at("parameters").get<int>();
  ASSERT_EQ(summary.at("memory").size(), 3U);
  EXPECT_EQ(summary["memory"][0]["measured_bytes"], parameters);
  EXPECT_EQ(summary["memory"][2]["kind"], "optimizer state");
  EXPECT_EQ(summary["memory"][2]["measured_bytes"], 2 * parameters);
}

TEST_F(TextTraining, TrainsUnderMpirunToo) {
  if (std::string(LOCKSTEP_MPIRUN).empty()) GTEST_SKIP() << "there is no mpirun here";
  const fs::path program = fs::path(LOCKSTEP_PROGRAM).parent_path() / "lockstep-train";
  const Result result =
      start({LOCKSTEP_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", "2", program, "text", "--data", text_,
             "--out", out_, "--layers=1", "--width=16", "--iterations=2", "--context=16"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("2 ranks"));
}

TEST_F(TextTraining, WrongFlagsAreSaidOnceAndExit2) {
  expect_refused(train(2, {"--heads=3"}), "--heads 3 does not divide --width 16");
  expect_refused(train(2, {"--iterations=0"}), "--iterations must be at least 1");
  expect_refused(train(2, {"--width=wide"}), "--width");
  expect_refused(train(2, {"--colour"}), "--colour");
  const std::string no_algorithm =
      "lockstep-train: Rank 0: all_reduce: There is no algorithm 'rong'. Did you mean 'ring'?\n";
  expect_refused(train(2, {"--algorithm=rong", "--check"}), no_algorithm);
  expect_refused(train(2, {"--algorithm=rong"}), no_algorithm);
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(TextTraining, ReadsItsInputAndDoesNothingElseWhereThatIsAsked) {
  const Result result = train(2, {"--check"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.output + result.errors, "");
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(TextTraining, WrongDataIsSaidOnceAndExits2) {
  expect_refused(train(2, {"--data", folder_ / "none"}), "There is no file");
  const fs::path empty = write("empty", "", fs::perms::owner_all),
                 brief = write("brief", "a b c", fs::perms::owner_all);
  const auto with_data = [&](const fs::path& path) {
    return start({LOCKSTEP_PROGRAM, "train", "text", "-n", "2", "--out", out_, "--data", path});
  };
  expect_refused(with_data(empty), "is empty");
  expect_refused(with_data(brief), "too short");
  expect_refused(train(2, {"--out", text_ / "below"}), "cannot be written");
  expect_refused(train(2, {"--out", "/proc/lockstep"}), "cannot be written");
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(TextTraining, ACheckpointThatIsCutShortIsRefusedAndLeftAlone) {
  ASSERT_EQ(train(1, {"--iterations=2"}).code, 0);
  const fs::path checkpoint = out_ / "checkpoint.pt";
  fs::resize_file(checkpoint, fs::file_size(checkpoint) / 2);
  const std::string before = read(checkpoint);
  expect_refused(train(2, {"--iterations=4", "--resume", checkpoint}), "cut short");
  EXPECT_EQ(read(checkpoint), before);
}

TEST_F(TextTraining, GoesOnFromACheckpoint) {
  ASSERT_EQ(train(1, {"--iterations=2"}).code, 0);
  const Result result = train(2, {"--iterations=4", "--resume", out_ / "checkpoint.pt"});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("going on from"), HasSubstr("iteration 3 "), Not(HasSubstr("iteration 2 "))));
}

TEST_F(TextTraining, AFullDiskIsAnErrorThatNamesTheFile) {
  fs::create_directory(out_);
  // The checkpoint fits, and the report does not.
  const Result result = start(
      testing_support::on_a_small_disk(out_, "52k", fmt::format("\"$@\"; code=$?; ls {}; exit $code", out_.string()),
                                       arguments(2, {"--iterations=2", "--layers=1", "--width=4", "--heads=1"})));
  if (result.code == testing_support::kNoSmallDisk) GTEST_SKIP() << testing_support::kWhyNoSmallDisk;
  EXPECT_EQ(result.code, 1) << result.output;
  EXPECT_THAT(result.errors, HasSubstr("out/report.html"));
  EXPECT_THAT(result.errors, HasSubstr("No space left on device"));
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("checkpoint.pt\n"), Not(HasSubstr("report.html")), Not(HasSubstr("partial"))));
}

TEST_F(TextTraining, AModelThatIsTooLargeForTheMemoryIsSaidOnce) {
  if (kUnderAddressSanitizer) GTEST_SKIP() << "AddressSanitizer ends the program itself";
  if (read("/proc/sys/vm/overcommit_memory") == "1\n") GTEST_SKIP() << "this system grants more memory than it has";
  const Result result = train(2, {"--width=1000000", "--heads=1", "--layers=100"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("lockstep-train: There is not enough memory"));
  EXPECT_THAT(result.errors, Not(HasSubstr("[rank 1] lockstep-train")));
}

TEST_F(TextTraining, AReportThatCannotBeWrittenIsAnErrorThatNamesIt) {
  fs::create_directories(out_ / "report.html" / "in the way");
  const Result result = train(2, {"--iterations=2"});
  EXPECT_EQ(result.code, 1) << result.output;
  EXPECT_THAT(result.errors, HasSubstr("report.html failed: Is a directory"));
  EXPECT_EQ(files(), (std::set<std::string>{"checkpoint.pt", "report.html", "trace.json"}));
}

}  // namespace lockstep
