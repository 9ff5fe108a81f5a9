// `lockstep prove`: which algorithms canonical mode admits.
#include "cli/program_for_tests.h"

namespace lockstep {

namespace {

/// The last line that a proof says.
std::string admitted_for(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "prove");
  const testing_support::Result result = lockstep_with(arguments);
  EXPECT_EQ(result.code, 0) << result.errors;
  const std::size_t line = result.output.rfind('\n', result.output.size() - 2);
  return result.output.substr(line + 1);
}

}  // namespace

TEST(CliAdmitted, OnSeveralHostsCompositionsAreAmongThem) {
  EXPECT_EQ(
      admitted_for({"hierarchical:direct,direct", "-n", "4", "--local-size", "2"}),
      "Canonical mode admits on 4 ranks: naive, star, direct, tree, recursive_doubling, halving_doubling, swing, "
      "hierarchical:ring,ring, hierarchical:direct,halving_doubling, "
      "hierarchical:recursive_doubling,recursive_doubling, hierarchical:circulant,circulant; of them for bfloat16 "
      "and float16: naive, star, direct.\n");
  EXPECT_EQ(admitted_for({"direct", "-n", "6", "--local-size", "3"}), admitted_for({"direct", "-n", "6"}))
      << "the tree sums ranks 2 and 3, which are on different hosts";
  EXPECT_EQ(admitted_for({"direct", "-n", "4", "--local-size", "1"}), admitted_for({"direct", "-n", "4"}))
      << "nothing is to be composed of hosts with a rank each";
}

TEST(CliAdmitted, OfManyRanksItSaysWhyNoneIsListed) {
  EXPECT_EQ(admitted_for({"direct", "-n", "70"}),
            "What canonical mode admits is listed for at most 64 ranks: to prove every algorithm on more takes "
            "long.\n");
}

}  // namespace lockstep
