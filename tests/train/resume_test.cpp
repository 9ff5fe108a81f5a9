// The examples that save, and go on where they were, as users start them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <iterator>
#include <regex>
#include <string>

#include "tests/processes/command.h"
#include "tests/processes/small_disk.h"
#include "tests/processes/temporary_folder.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::Command;
using testing_support::eventually;

/// The number behind the last `word` in `text`; -1 if there is none.
double last_after(const std::string& word, const std::string& text) {
  const auto at = text.rfind(word);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + word.size()));
}

class Resume : public testing_support::TemporaryFolder {
 protected:
  std::vector<std::string> command(int ranks, const std::string& folder, const std::string& iterations,
                                   const std::string& random = "none") const {
    return {
        LOCKSTEP_PROGRAM, "run", "-n", std::to_string(ranks), LOCKSTEP_EXAMPLES "resume", (folder_ / folder).string(),
        iterations,       random};
  }
  std::string output_of(int ranks, const std::string& folder, const std::string& iterations,
                        const std::string& random = "none") const {
    Command run(command(ranks, folder, iterations, random));
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

TEST_F(Resume, OnTheSameNumberOfRanksItEndsWithTheSameBits) {
  const std::string whole = output_of(2, "whole", "60");
  output_of(2, "halves", "30");
  const std::string halves = output_of(2, "halves", "60");
  EXPECT_THAT(halves, HasSubstr("from iteration 30 "));
  EXPECT_EQ(last_after("squares ", halves), last_after("squares ", whole));
  EXPECT_GT(last_after("stalled ", halves), 0);
}

TEST_F(Resume, RandomNumbersOfEachRankGoOnWhereTheyWere) {
  const double whole = last_after("squares ", output_of(3, "whole", "40", "dropout"));
  EXPECT_NE(last_after("squares ", output_of(3, "without", "40")), whole) << "none are drawn";
  for (const std::string random : {"dropout", "forgetful"}) {
    output_of(3, random, "20", random);
    const std::string halves = output_of(3, random, "40", random);
    EXPECT_THAT(halves, HasSubstr("from iteration 20 on 3 ranks"));
    EXPECT_EQ(last_after("squares ", halves) == whole, random == "dropout") << random << ": " << halves;
  }
}

TEST_F(Resume, ADiskThatFillsUpIsAnErrorOnAllRanksAndLeavesTheLastCheckpoint) {
  // The third checkpoint finds 16 KiB, which no three ranks' files fit in; then there is room again.
  const std::string disk = (folder_ / "disk").string();
  const std::string script = "cd " + disk + R"( && "$@" 20 none || exit 1
      head -c 16k /dev/zero > room; cat /dev/zero > full 2> /dev/null; rm room
      "$@" 40 none; echo "ended with $?"; ls -R out; echo "that was all"
      rm full; exec "$@" 40 none)";
  std::filesystem::create_directory(disk);
  // Ranks that lockstep does not stop, so that each has its say when another has failed.
  const std::vector<std::string> training = {
      LOCKSTEP_PROGRAM,           "run",        "-n", "3", "sh", "-c", "trap '' TERM; exec \"$0\" \"$@\"",
      LOCKSTEP_EXAMPLES "resume", disk + "/out"};
  Command run(testing_support::on_a_small_disk(disk, "4m", script, training));
  const int code = run.wait();
  if (code == testing_support::kNoSmallDisk) GTEST_SKIP() << testing_support::kWhyNoSmallDisk;
  ASSERT_EQ(code, 0) << run.output() << run.errors();

  const std::string errors = run.errors(), output = run.output();
  const std::regex sentence(
      "\\[rank [012]\\] Rank [012]: Writing \\S*/iteration-00000030.partial/shard-0000[012]-of-00003\\S* failed: "
      "No space left on device");
  EXPECT_EQ(std::distance(std::sregex_iterator(errors.begin(), errors.end(), sentence), {}), 3) << errors;
  EXPECT_THAT(output, HasSubstr("ended with 1"));
  const auto begin = output.find("ended with "), end = output.find("that was all");
  EXPECT_THAT(output.substr(begin, end - begin),
              AllOf(HasSubstr("iteration-00000020"), Not(HasSubstr("iteration-00000030")), Not(HasSubstr("partial"))));
  EXPECT_THAT(output.substr(end), HasSubstr("from iteration 20 on 3 ranks"));
  EXPECT_EQ(last_after("squares ", output), last_after("squares ", output_of(3, "whole", "40")));
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
  std::string parts = losses(4, "parts", 9);
  parts += losses(2, "parts", 20);
  parts += losses(8, "parts", 30);
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace lockstep
