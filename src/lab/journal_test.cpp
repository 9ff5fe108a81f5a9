#include "lab/journal.h"

#include "lab/text/test_text.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace lockstep::lab {

class JournalTest : public TextTest {
 protected:
  static IterationRecord record(std::int64_t iteration) {
    IterationRecord record;
    record.iteration = iteration;
    record.loss = 1.0 / static_cast<double>(iteration);
    if (iteration == 4321) record.validation_loss = 0.5;
    return record;
  }
  static RunRecord run() {
    RunRecord run;
    run.iterations = 10000;
    return run;
  }
};

TEST_F(JournalTest, WritesAJsonObjectForEachIteration) {
  OutputOptions options;
  options.jsonl = (folder_ / "log.jsonl").string();
  Journal journal(options, run());
  for (int i = 1; i <= 3; ++i) journal.add(record(i));
  journal.close();
  std::istringstream lines(read_file(options.jsonl));
  std::string line;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(nlohmann::json::parse(line).at("iteration"), i);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(JournalTest, ARunThatGoesOnAddsToItsFile) {
  OutputOptions options;
  options.jsonl = (folder_ / "log.jsonl").string();
  const auto lines_after = [&](bool goes_on) {
    Journal journal(options, run(), goes_on);
    journal.add(record(1));
    journal.close();
    const std::string text = read_file(options.jsonl);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines_after(false), 1);
  EXPECT_EQ(lines_after(true), 2);
  EXPECT_EQ(lines_after(false), 1);
}

TEST_F(JournalTest, RefusesAFileThatCannotBeMade) {
  OutputOptions options;
  options.jsonl = (folder_ / "missing" / "log.jsonl").string();
  EXPECT_THAT(refusal_of([&] { Journal(options, run()); }), testing::HasSubstr("No such file"));
}

TEST_F(JournalTest, AFullDiskIsSaidAtTheEnd) {
  OutputOptions options;
  options.jsonl = "/dev/full";
  Journal journal(options, run());
  journal.add(record(1));
  try {
    journal.close();
    FAIL() << "wrote to a full disk";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), testing::HasSubstr("/dev/full"));
  }
}

TEST_F(JournalTest, KeepsABoundedNumberOfRecords) {
  OutputOptions options;
  options.every = 1000000;
  Journal journal(options, run());
  for (int i = 1; i <= 9999; ++i) journal.add(record(i));
  const auto& records = journal.records();
  EXPECT_LE(records.size(), 4001U);
  EXPECT_GE(records.size(), 2000U);
  EXPECT_EQ(records.front().iteration, 1);
  EXPECT_EQ(records.back().iteration, 9999);
  int validations = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_GT(records[i].iteration, records[i - 1].iteration);
    EXPECT_LE(records[i].iteration - records[i - 1].iteration, 8);
    validations += records[i].validation_loss.has_value();
  }
  EXPECT_EQ(validations, 1);
}

TEST_F(JournalTest, KeepsABoundedNumberOfEvaluationsToo) {
  OutputOptions options;
  options.every = 1'000'000;
  Journal journal(options, run());
  std::size_t most = 0;
  testing::internal::CaptureStdout();
  for (std::int64_t i = 1; i <= 60'000; ++i) {
    IterationRecord one = record(i);
    if (i > 20'000) one.validation_loss = 0.5;
    journal.add(one);
    most = std::max(most, journal.records().size());
  }
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 3 + 40'000)
      << "the first, 4321, the last that run() tells of, and evaluations";
  EXPECT_LE(most, Journal::kMostRecords);
  const auto& records = journal.records();
  EXPECT_GE(records.size(), 1000U);
  EXPECT_EQ(records.front().iteration, 1);
  EXPECT_EQ(records.back().iteration, 60'000);
  for (std::size_t i = 1; i < records.size(); ++i) {
    ASSERT_GT(records[i].iteration, records[i - 1].iteration);
    ASSERT_LE(records[i].iteration - records[i - 1].iteration, 600) << "no hole";
  }
}

}  // namespace lockstep::lab
