// The examples that save, and go on where they were, as users start them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing_support::Command;
using testing_support::eventually;

/// The number behind the last `word` in `text`; -1 if there is none.
double last_after(const std::string& word, const std::string& text) {
  const auto at = text.rfind(word);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + word.size()));
}

class Resume : public testing_support::TemporaryFolder {
 protected:
  std::vector<std::string> command(int ranks, const std::string& folder, const std::string& iterations) const {
    return {
        LOCKSTEP_PROGRAM, "run", "-n", std::to_string(ranks), LOCKSTEP_EXAMPLES "resume", (folder_ / folder).string(),
        iterations};
  }
  std::string output_of(int ranks, const std::string& folder, const std::string& iterations) const {
    Command run(command(ranks, folder, iterations));
    EXPECT_EQ(run.wait(), 0) << run.output() << run.errors();
    return run.output();
  }
};

TEST_F(Resume, AKilledTrainingEndsWhereOneEndsThatWasLeftAlone) {
  {
    Command killed(command(3, "killed", "1000000"));
    ASSERT_TRUE(eventually([&] { return killed.output().find("iteration 40 ") != std::string::npos; }))
        << killed.errors();
    killed.send(SIGKILL);
    EXPECT_NE(killed.wait(), 0);
  }
  const double saved = last_after("from iteration ", output_of(1, "killed", "0"));
  EXPECT_GE(saved, 20) << "what had been saved by then, and not the start";
  const std::string target = std::to_string(static_cast<int>(saved) + 30);
  const std::string output = output_of(2, "killed", target);
  EXPECT_THAT(output, HasSubstr("on 2 ranks"));
  const double expected = last_after("squares ", output_of(1, "whole", target));
  EXPECT_NEAR(last_after("squares ", output), expected, 1e-3 * expected);
}

TEST_F(Resume, OnTheSameNumberOfRanksItEndsWithTheSameDigits) {
  const std::string whole = output_of(2, "whole", "60");
  output_of(2, "halves", "30");
  const std::string halves = output_of(2, "halves", "60");
  EXPECT_THAT(halves, HasSubstr("from iteration 30 "));
  EXPECT_EQ(last_after("squares ", halves), last_after("squares ", whole));
  EXPECT_GT(last_after("stalled ", halves), 0);
}

class Invariant : public testing_support::TemporaryFolder {
 protected:
  std::string losses(int ranks, const std::string& folder, int iterations) const {
    Command run({LOCKSTEP_PROGRAM, "run", "-n", std::to_string(ranks), LOCKSTEP_EXAMPLES "invariant",
                 (folder_ / folder).string(), std::to_string(iterations)});
    EXPECT_EQ(run.wait(), 0) << run.output() << run.errors();
    return run.output();
  }
};

TEST_F(Invariant, ItsBitsDoNotDependOnTheNumberOfRanks) {
  const std::string alone = losses(1, "alone", 30);
  EXPECT_THAT(alone, HasSubstr("iteration 30 loss 0."));
  for (const int ranks : {2, 4, 8}) EXPECT_EQ(losses(ranks, std::to_string(ranks), 30), alone);
}

TEST_F(Invariant, ItGoesOnWithTheSameBitsOnOtherRanks) {
  const std::string whole = losses(1, "whole", 30);
  const std::string parts = losses(4, "parts", 9) + losses(2, "parts", 20) + losses(8, "parts", 30);
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace lockstep
