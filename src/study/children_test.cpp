#include "study/children.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <unistd.h>

namespace lockstep::study {

using testing::HasSubstr;

namespace {

ChildPlan shell(const std::string& script) { return {{"/bin/sh", "-c", script}}; }

}  // namespace

TEST(Children, SayWhatTheyPrintedAndHowTheyEnded) {
  Children children;
  const ChildResult result = children.run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(children.run(shell("kill -9 $$")).exit_code, 128 + SIGKILL);
}

TEST(Children, PrintMoreThanAPipeHolds) {
  Children children;
  EXPECT_EQ(children.run(shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2")).output.size(), 1000000u);
}

TEST(Children, HaveOurEnvironmentAndMore) {
  Children children;
  ::setenv("LOCKSTEP_STUDY_TEST", "ours", 1);
  ChildPlan plan = shell("echo $LOCKSTEP_STUDY_TEST");
  EXPECT_EQ(children.run(plan).output, "ours\n");
  plan.environment = {"LOCKSTEP_STUDY_TEST=theirs"};
  EXPECT_EQ(children.run(plan).output, "theirs\n");
  ::unsetenv("LOCKSTEP_STUDY_TEST");
}

TEST(Children, ThatFailAreErrorsWithTheirLastWords) {
  Children children;
  const auto error = [&](const std::string& script) {
    try {
      children.output_of(shell(script));
    } catch (const Error& caught) {
      return caught;
    }
    return Error(ErrorCode::kIo, "no error");
  };
  EXPECT_EQ(children.output_of(shell("echo fine")), "fine\n");
  EXPECT_EQ(error("echo first >&2; echo --batch is wrong. >&2; exit 2").code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(error("echo first >&2; echo --batch is wrong. >&2; exit 2").what(),
              HasSubstr("failed: --batch is wrong."));
  EXPECT_EQ(error("exit 1").code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error("exit 7").what(), HasSubstr("exit code 7"));
  EXPECT_THROW(children.run({{"/nowhere/program"}}), Error);
}

TEST(Children, EndWithASignalAndThenItThrows) {
  Children children;
  try {
    children.run(shell("kill -INT " + std::to_string(::getpid()) + "; exec sleep 1000"));
    FAIL() << "went on after SIGINT";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.signal(), SIGINT);
  }
  EXPECT_THROW(children.run(shell("true")), Interrupted) << "and nothing is started any more";
}

}  // namespace lockstep::study
