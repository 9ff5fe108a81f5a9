#include "report/tensorboard.h"

#include "base/atomic_file.h"
#include "report/tensorboard_for_tests.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>

namespace lockstep {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

// The bytes are those that TensorBoard 2.21's own RecordWriter and protobuf messages write of the same values.
TEST(TensorboardBytes, AreThoseOfTensorboardsOwnWriter) {
  EXPECT_EQ(hex(tensorboard_record(tensorboard_version(1700000000.25))),
            "1800000000000000a37f4b220900001040fc54d9411a0d627261696e2e4576656e743a32338d2fe9");
  EXPECT_EQ(
      hex(tensorboard_record(tensorboard_event(1700000001.5, 300, {{"loss/training", 2.5}, {"x", 0}}))),
      "2e00000000000000c5cb57fa0900006040fc54d94110ac022a200a140a0d6c6f73732f747261696e696e6715000020400a080a01781500"
      "000000944c0d6f");
  EXPECT_EQ(hex(tensorboard_record(tensorboard_event(1700000002, 0, {{"a", -1}}))),
            "1500000000000000d6ab6b2b0900008040fc54d9412a0a0a080a016115000080bf902fe825");
  EXPECT_EQ(hex(tensorboard_record(tensorboard_event(1700000002, -1, {}))),
            "16000000000000004f61be280900008040fc54d94110ffffffffffffffffff012a00d9a5dd7f");
}

class Tensorboard : public testing_support::TemporaryFolder {
 protected:
  static IterationRecord record(std::int64_t iteration) {
    IterationRecord record;
    record.iteration = iteration;
    record.loss = 1 / static_cast<double>(iteration);
    record.learning_rate = 0.5;
    record.items_per_second = 1000;
    record.training_accuracy = 0.75;
    if (iteration == 2) record.validation_loss = std::numeric_limits<double>::quiet_NaN();
    return record;
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
};

TEST_F(Tensorboard, TwoWritersOfOneSecondHaveTwoFiles) {
  const TensorboardWriter first(folder_ / "a" / "b"), second(folder_ / "a" / "b");
  EXPECT_NE(first.path(), second.path());
  for (const auto& path : {first.path(), second.path()}) {
    EXPECT_THAT(path.filename().string(), testing::StartsWith("events.out.tfevents."));
    EXPECT_EQ(fs::file_size(path), 40u) << "the version is in the file at once";
  }
}

TEST_F(Tensorboard, WhatWasAddedIsInTheFileAtOnce) {
  TensorboardWriter writer(folder_, "images");
  const auto before = fs::file_size(writer.path());
  writer.add(record(1));
  const std::string content = read_file(writer.path());
  EXPECT_GT(content.size(), before);
  for (const char* tag : {"loss/training", "accuracy/training", "images_per_second", "time/compute_ms"}) {
    EXPECT_THAT(content, HasSubstr(tag));
  }
  EXPECT_THAT(content, testing::Not(HasSubstr("hidden_ms")));
  EXPECT_THAT(content, testing::Not(HasSubstr("validation")));
}

TEST_F(Tensorboard, AFolderThatCannotBeMadeIsAnError) {
  write_file_atomically(folder_ / "file", "");
  try {
    const TensorboardWriter writer(folder_ / "file" / "events");
    FAIL() << "made a folder in a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), HasSubstr("file/events failed: Not a directory"));
  }
}

TEST_F(Tensorboard, AFullDiskIsAnError) {
  TensorboardWriter writer(folder_);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{50, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::string said;
  try {
    writer.add(record(1));
  } catch (const Error& error) {
    said = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(said, HasSubstr(writer.path().string() + " failed: File too large"));
}

TEST_F(Tensorboard, TensorboardsOwnReaderReadsIt) {
  if (!has_tensorboard()) GTEST_SKIP() << kNoTensorboard;
  TensorboardWriter writer(folder_);
  for (int i = 1; i <= 3; ++i) writer.add(record(i));
  writer.add(1LL << 40, {{std::string(300, 'x'), -0.25}});
  const auto scalars = read_by_tensorboard(writer.path());
  ASSERT_TRUE(scalars.is_object());
  EXPECT_EQ(scalars["loss/training"].size(), 3u);
  EXPECT_EQ(scalars["loss/training"][1], nlohmann::json::array({2, "0.5"}));
  EXPECT_EQ(scalars["loss/validation"], nlohmann::json::parse(R"([[2, "nan"]])"));
  EXPECT_EQ(scalars["accuracy/training"][2], nlohmann::json::array({3, "0.75"}));
  EXPECT_EQ(scalars["tokens_per_second"][0], nlohmann::json::array({1, "1000.0"}));
  EXPECT_EQ(scalars[std::string(300, 'x')], nlohmann::json::parse(R"([[1099511627776, "-0.25"]])"));
}

}  // namespace lockstep
