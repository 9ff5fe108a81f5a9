// What the examples say to words that they know nothing of, and how they end an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing_support::Result;
using testing_support::run_command;

using Words = std::vector<std::string>;

/// All of them.
Words examples() {
  Words names;
  std::istringstream in(LOCKSTEP_EXAMPLE_NAMES);
  for (std::string name; in >> name;) names.push_back(name);
  return names;
}

/// Starts an example, the first of these words, with the others, and with no launcher.
Result run_example(Words words) {
  words[0] = LOCKSTEP_EXAMPLES + words[0];
  return run_command(words);
}

/// That the example ends with `code` and one line, in which this stands, and does nothing before.
void expect_refusal(const Words& words, int code, const std::string& sentence) {
  const Result result = run_example(words);
  const std::string which = testing::PrintToString(words);
  EXPECT_EQ(result.code, code) << which;
  EXPECT_THAT(result.errors, AllOf(HasSubstr(sentence), MatchesRegex("[^\n]+\n"))) << which;
  EXPECT_EQ(result.output, "") << which;
}

TEST(ExampleArguments, EachExampleSaysHowItIsStarted) {
  ASSERT_GT(examples().size(), 20u);
  for (const auto& example : examples()) {
    const Result help = run_example({example, "--help"});
    EXPECT_EQ(help.code, 0) << example;
    EXPECT_THAT(help.output, MatchesRegex("usage: " + example + "( [^\n]+)?\n"));
    EXPECT_EQ(help.errors, "");
  }
}

TEST(ExampleArguments, WhatAnExampleDoesNotKnowEndsItWithWhatItDoes) {
  struct Wrong {
    Words words;
    const char* sentence;
  };
  std::set<std::string> with_words;
  for (const auto& [words, sentence] :
       {Wrong{{"exchange"}, "Something is missing; usage: exchange FOLDER"},
        Wrong{{"exchange", "--hlep"}, "There is no option '--hlep'; usage: exchange FOLDER"},
        Wrong{{"any_model", "none.pt"}, "There is no TorchScript file 'none.pt'; "},
        Wrong{{"bad_data", "sotp"}, "There is no word 'sotp'; there are skip, stop."},
        Wrong{{"batch_norm", "men"}, "There is no word 'men'; there are global, once, mean, broadcast."},
        Wrong{{"compression", "int9"}, "There is no hook 'int9'; there are bfloat16, float16, int8, "},
        Wrong{{"compression_advice", "int8", "int9"}, "There is no hook 'int9'; there are bfloat16, float16, int8, "},
        Wrong{{"compression_advice", "int8"}, "lockstep run -n 2 ./compression_advice"},
        Wrong{{"invariant", "none/of/it", "abc"}, "ITERATIONS is 'abc'; it takes a whole number from 0 to 1000000000."},
        Wrong{{"large_batch", "lars", "cosin"}, "There is no word 'cosin'; there are cosine, lars, step."},
        Wrong{{"large_batch", "cosine", "step"},
              "'cosine' and 'step' are two ways for the learning rate to fall; give"},
        Wrong{{"local_sgd", "dilco"}, "There is no word 'dilco'; there are local_sgd, diloco."},
        Wrong{{"mirrored", "0"}, "REPLICAS is '0'; it takes a whole number from 1 to 64."},
        Wrong{{"recompute", "tide"}, "There is no word 'tide'; there are keep, tied."},
        Wrong{{"reshard", "none/of/it", "4", "10"}, "STAGE is '4'; it takes a whole number from 0 to 3."},
        Wrong{{"resume", "none/of/it", "-1"}, "ITERATIONS is '-1'; it takes a whole number from 0 to 1000000000."},
        Wrong{{"resume", "none/of/it", "10", "dropuot"}, "no word 'dropuot'; there are none, dropout, forgetful."},
        Wrong{{"sentences", "2", "x"}, "SHARE is 'x'; it takes a whole number from 1 to 1000."},
        Wrong{{"sharded_memory", "four"}, "STAGE is 'four'; it takes a whole number from 0 to 3."},
        Wrong{{"train_sharded", "3", "lmab"}, "There is no word 'lmab'; there are 0, 1, 2, 3, lamb, host, "},
        Wrong{{"uneven", "sotp"}, "There is no word 'sotp'; there are shadow, stop."}}) {
    with_words.insert(words[0]);
    expect_refusal(words, 2, sentence);
  }
  for (const auto& example : examples()) {
    if (with_words.count(example) != 0) continue;
    expect_refusal({example, "4"}, 2, "'4' is one word too many; usage: " + example);
  }
}

class ExampleFiles : public testing_support::TemporaryFolder {
 protected:
  std::string file(const std::string& name) const {
    std::ofstream(folder_ / name) << "what somebody wrote\n";
    return (folder_ / name).string();
  }
};

TEST_F(ExampleFiles, AFileIsNoFolder) {
  const std::string place = file("place");
  for (const Words& words : {Words{"exchange", place}, Words{"invariant", place, "10"},
                             Words{"reshard", place, "1", "10"}, Words{"resume", place + "/below", "10"}}) {
    expect_refusal(words, 1, place);
  }
}

TEST_F(ExampleFiles, WhatIsNoModelIsRefused) {
  file("model.pt");
  expect_refusal({"exchange", folder_.string()}, 2, "model.pt is no archive of torch::save");
  expect_refusal({"any_model", (folder_ / "model.pt").string()}, 1, "zip archive");
}

}  // namespace
}  // namespace lockstep
