// A pipeline asked for by its name: segmented:K:ALGORITHM.
#include "cli/program_for_tests.h"

namespace lockstep {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::Result;

namespace {

/// Of 4 ranks, of one element and of more than there are slices.
Result bench_of_four(std::vector<std::string> more, std::vector<std::string> environment = {}) {
  more.insert(more.begin(), {"bench", "all_reduce", "-n", "4", "--max-bytes", "64KiB", "--factor", "16384",
                             "--min-time", "1ms", "--cache-bytes", "1MiB"});
  return lockstep_with(std::move(more), std::move(environment));
}

}  // namespace

TEST(CliPipeline, RunsOverEveryTransportHere) {
  for (const char* transport : {"shm", "tcp"}) {
    for (const char* buffers : {"registered", "plain"}) {
      const Result result =
          bench_of_four({"--algorithm", "segmented:8:double_tree", "--transport", transport, "--buffers", buffers});
      EXPECT_EQ(result.code, 0) << result.errors;
      EXPECT_THAT(result.output, AllOf(HasSubstr(transport), ContainsRegex("\n +4 .* segmented:8:double_tree .* 0\n"),
                                       ContainsRegex("\n +65536 .* segmented:8:double_tree .* 0\n")));
    }
  }
}

TEST(CliPipeline, OfACompositionRunsOnSeveralHosts) {
  const Result result = bench_of_four({"--local-size", "2", "--algorithm", "segmented:3:hierarchical:direct,ring"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, ContainsRegex("segmented:3:hierarchical:direct,ring .* 0\n"));
}

TEST(CliPipeline, IsTakenFromTheEnvironment) {
  const std::string by_size = "LOCKSTEP_ALGORITHMS=all_reduce: 0-1KiB ring, 1KiB- segmented:8:tree";
  EXPECT_THAT(bench_of_four({}, {by_size}).output, ContainsRegex("ring .*\n.*segmented:8:tree .* 0\n"));
  EXPECT_THAT(bench_of_four({}, {"LOCKSTEP_ALGORITHM=segmented:2:ring"}).output,
              ContainsRegex("segmented:2:ring .*\n.*segmented:2:ring .* 0\n"));
  EXPECT_THAT(lockstep_with({"info"}, {by_size}).output,
              AllOf(HasSubstr("all_reduce: 0-1KiB ring, 1KiB- segmented:8:tree;"), HasSubstr("\n  segmented:K:A ")));
}

TEST(CliPipeline, IsCanonicalIfTheAlgorithmIs) {
  const std::vector<std::string> canonical{"LOCKSTEP_REDUCTION=canonical"};
  const Result tree = bench_of_four({"--algorithm", "segmented:4:tree"}, canonical);
  EXPECT_EQ(tree.code, 0) << tree.errors;
  const Result ring = bench_of_four({"--algorithm", "segmented:4:ring"}, canonical);
  EXPECT_EQ(ring.code, 2);
  EXPECT_THAT(ring.errors, HasSubstr("'segmented:4:ring' does not sum float32 along the canonical tree"));
}

TEST(CliPipeline, IsShownAndProvedAsWithSegments) {
  const std::vector<std::string> on_four{"-n", "4", "--format", "schedule"};
  const auto shown = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "show");
    words.insert(words.end(), on_four.begin(), on_four.end());
    const Result result = lockstep_with(words);
    EXPECT_EQ(result.code, 0) << result.errors;
    return result.output.substr(result.output.find("\nstep"));
  };
  EXPECT_EQ(shown({"segmented:6:tree"}), shown({"tree", "--segments", "6"}));
  EXPECT_THAT(lockstep_with({"prove", "segmented:3:tree", "-n", "4"}).output,
              StartsWith("Proved: segmented:3:tree for all_reduce on 4 ranks: 3 chunks, 6 steps, 18 transfers."));
  EXPECT_EQ(lockstep_with({"prove", "segmented:3:hierarchical:ring,tree", "-n", "4", "--local-size", "2"}).code, 0);
}

TEST(CliPipeline, IsPricedAsWithSegments) {
  const Result named = lockstep_with({"price", "segmented:8:tree", "-n", "4", "--bytes", "1MiB", "--format", "json"});
  const Result typed =
      lockstep_with({"price", "tree", "-n", "4", "--bytes", "1MiB", "--segments", "8", "--format", "json"});
  const auto seconds = [](const Result& result) {
    EXPECT_EQ(result.code, 0) << result.errors;
    const std::size_t begin = result.output.find("\"seconds\"");
    return result.output.substr(begin, result.output.find(',', begin) - begin);
  };
  EXPECT_EQ(seconds(named), seconds(typed));
}

TEST(CliPipeline, MistakesAreOneLine) {
  for (const char* command : {"show", "prove"}) {
    expect_usage_error({command, "segmented:8", "-n", "4"}, "as in: segmented:8:double_tree");
    expect_usage_error({command, "segmented:0:ring", "-n", "4"}, "from 1 to 65536; '0' is not one");
    expect_usage_error({command, "segmented:65536:naive", "-n", "1024"}, "'naive' is cut into at most 16 segments");
    expect_usage_error({command, "segmented:2:ring", "-n", "4", "--segments", "2"},
                       "'segmented:2:ring' says into how many segments; leave out --segments.");
    expect_usage_error({command, "segmented:2:hierarchical:ring,tree", "-n", "4"}, "needs to know which ranks share");
  }
  expect_usage_error({"bench", "all_reduce", "-n", "2", "--algorithm", "segmented:2:segmented:2:ring"},
                     "give one number of segments.");
  expect_usage_error({"bench", "all_to_all", "-n", "2", "--algorithm", "segmented:2:ring"}, "does no all_to_all");
  const Result too_many = bench_of_four({"--algorithm", "segmented:65536:direct"});
  EXPECT_EQ(too_many.code, 2);
  EXPECT_THAT(too_many.errors,
              HasSubstr("'direct' is cut into at most 16384 segments on 4 ranks; 65536 are too many."));
  expect_usage_error({"price", "ring", "segmented:2:ring", "-n", "4", "--bytes", "1MiB", "--segments", "4"},
                     "'segmented:2:ring' says into how many segments; leave out --segments.");
  expect_usage_error({"price", "segmented:x:ring", "-n", "4", "--bytes", "1MiB"}, "'x' is not one.");
  const Result variable = lockstep_with({"info"}, {"LOCKSTEP_ALGORITHM=segmented:8"});
  EXPECT_EQ(variable.code, 2);
  EXPECT_THAT(variable.errors, HasSubstr("LOCKSTEP_ALGORITHM: 'segmented' takes a number of segments"));
}

}  // namespace lockstep
