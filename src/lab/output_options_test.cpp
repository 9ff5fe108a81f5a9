#include "lab/output_options.h"

#include "lab/folder_for_tests.h"
#include "lab/refusal_for_tests.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

TEST(OutputOptions, PrintsAboutFiftyLines) {
  OutputOptions options;
  EXPECT_EQ(options.print_every(2000), 40);
  EXPECT_EQ(options.print_every(20), 1);
  options.every = 7;
  EXPECT_EQ(options.print_every(2000), 7);
}

TEST(OutputOptions, WhatCannotBeIsRefusedByName) {
  EXPECT_THAT(refusal_of([] { validate(OutputOptions{.every = -1}); }),
              HasSubstr("--every must be at least 0, not -1"));
  EXPECT_THAT(refusal_of([] { make_folder(OutputOptions{.out = "/dev/null/runs"}); }),
              HasSubstr("--out /dev/null/runs"));
}

class OutputPaths : public FolderTest {
 protected:
  /// Of files that are named beside an --out that is not there yet; that it stays so.
  std::string refused(const std::string& jsonl, const std::string& tensorboard) const {
    const OutputOptions options{.out = (folder_ / "out").string(), .jsonl = jsonl, .tensorboard = tensorboard};
    const std::string said = refusal_of([&] { require_writable(options); });
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    return said;
  }
};

TEST_F(OutputPaths, ThatCannotBeMadeAreRefusedBeforeAnyIsMade) {
  EXPECT_THAT(refused((folder_ / "none/log.jsonl").string(), ""),
              HasSubstr("none/log.jsonl cannot be written: No such file or directory"));
  EXPECT_THAT(refused("/dev/null/log.jsonl", ""),
              HasSubstr("--jsonl /dev/null/log.jsonl cannot be written: Not a dir"));
  EXPECT_THAT(refused(folder_.string(), ""), HasSubstr("cannot be written: Is a directory"));
  EXPECT_THAT(refused("", "/dev/null/events"), HasSubstr("--tensorboard /dev/null/events cannot be written"));
  EXPECT_THAT(refusal_of([] { require_writable({.out = "/dev/null/runs"}); }), HasSubstr("--out /dev/null/runs"));
}

TEST_F(OutputPaths, ThatCanBeMadeAreTaken) {
  const std::string out = (folder_ / "runs/out").string();
  EXPECT_NO_THROW(require_writable({.out = out, .jsonl = out + "/log.jsonl", .tensorboard = out + "/a/b"}));
  EXPECT_NO_THROW(require_writable({.out = out, .jsonl = (folder_ / "log.jsonl").string()}));
  EXPECT_NO_THROW(require_writable({.out = out, .jsonl = "/dev/null"}));
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "nothing is made";
}

}  // namespace lockstep::lab
