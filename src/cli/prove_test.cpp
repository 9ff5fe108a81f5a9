// `lockstep prove`: which algorithms canonical mode admits.
#include "algorithms/catalog.h"
#include "cli/program_for_tests.h"
#include "schedule/proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

namespace {

/// What a proof says of canonical mode, at its end.
std::string admitted_for(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "prove");
  const testing_support::Result result = lockstep_with(arguments);
  EXPECT_EQ(result.code, 0) << result.errors;
  return result.output.substr(result.output.find('\n', result.output.find("anonical: ")) + 1);
}

}  // namespace

TEST(CliAdmitted, OnSeveralHostsCompositionsAreAmongThem) {
  const std::string all_of_two =
      "naive, star, direct, ring, bidirectional_ring, tree, double_tree, recursive_doubling, halving_doubling, swing, "
      "circulant";
  EXPECT_EQ(admitted_for({"hierarchical:direct,direct", "-n", "4", "--local-size", "2"}),
            "Canonical mode admits on 4 ranks: naive, star, direct, tree, recursive_doubling, halving_doubling, swing; "
            "of them for bfloat16 and float16: naive, star, direct.\n"
            "It admits hierarchical:LOCAL,GLOBAL, but for these two types, of LOCAL " +
                all_of_two + "; GLOBAL " + all_of_two +
                ".\n"
                "It admits pipelines of these too, segmented:K:ALGORITHM, which sum in the same order.\n");
  EXPECT_EQ(admitted_for({"direct", "-n", "6", "--local-size", "3"}), admitted_for({"direct", "-n", "6"}))
      << "the tree sums ranks 2 and 3, which are on different hosts";
  EXPECT_EQ(admitted_for({"direct", "-n", "4", "--local-size", "1"}), admitted_for({"direct", "-n", "4"}))
      << "nothing is to be composed of hosts with a rank each";
}

TEST(CliAdmitted, CompositionsOfReduceScattersAndReducesAreListedToo) {
  for (const char* collective : {"reduce_scatter", "reduce"}) {
    EXPECT_THAT(admitted_for({"direct", "-n", "4", "--local-size", "2", "--collective", collective}),
                testing::ContainsRegex("\nIt admits hierarchical:LOCAL,GLOBAL, .*; GLOBAL .*direct"))
        << collective;
  }
}

/// It is what the proof says of each.
TEST(CliAdmitted, OfEachLocalTheGlobalsAreThoseThatAreProvedCanonical) {
  for (const std::vector<int>& hosts :
       {std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 1, 1, 2, 2}, {0, 0, 0, 0, 1, 1}}) {
    const std::string text =
        admitted_for({"tree", "-n", std::to_string(hosts.size()), "--hosts", fmt::format("{}", fmt::join(hosts, ","))});
    for (const std::string_view local : algorithms_for(Collective::kAllReduce)) {
      for (const std::string_view global : algorithms_for(Collective::kAllReduce)) {
        const Proof proof = prove(find_algorithm(fmt::format("hierarchical:{},{}", local, global))
                                      .build({.ranks = static_cast<int>(hosts.size()), .hosts = hosts}));
        EXPECT_FALSE(proof.canonical_in_16_bits);
        const std::string listed =
            fmt::format("of LOCAL ([a-z_]+, )*{}(, [a-z_]+)*; GLOBAL ([a-z_]+, )*{}[,.]", local, global);
        EXPECT_EQ(testing::Matches(testing::ContainsRegex(listed))(text), proof.canonical) << local << "," << global;
      }
    }
  }
}

TEST(CliAdmitted, OnManyHostsThatDifferOnlyWhatIsProvedIsNamed) {
  std::string hosts;
  for (int rank = 0; rank < 18; ++rank) hosts += rank < 16 ? "0," : rank == 16 ? "1," : "1";
  const std::string others = "compositions that are proved canonical; to list them on hosts so different takes long.\n";
  for (const std::string pipeline : {"", "segmented:2:"}) {
    EXPECT_THAT(admitted_for({pipeline + "hierarchical:direct,direct", "-n", "18", "--hosts", hosts}),
                testing::HasSubstr("\nIt admits hierarchical:direct,direct, among other " + others));
    EXPECT_THAT(admitted_for({pipeline + "hierarchical:ring,direct", "-n", "18", "--hosts", hosts}),
                testing::HasSubstr("\nIt admits " + others));
  }
}

/// 11, 13, 16 and 17 ranks have no chunks in common that would be few enough for most compositions.
TEST(CliAdmitted, HostsThatShareNoChunksAreNoMistake) {
  std::string hosts;
  for (const int size : {11, 13, 16, 17}) {
    for (int i = 0; i < size; ++i) hosts += fmt::format("{}{}", hosts.empty() ? "" : ",", size);
  }
  EXPECT_THAT(admitted_for({"direct", "-n", "57", "--hosts", hosts}),
              testing::StartsWith("Canonical mode admits on 57 ranks: naive, star, direct, tree; "));
}

TEST(CliAdmitted, OfManyRanksItSaysWhyNoneIsListed) {
  EXPECT_EQ(admitted_for({"direct", "-n", "70"}),
            "What canonical mode admits is listed for at most 64 ranks: to prove every algorithm on more takes "
            "long.\n");
}

}  // namespace lockstep
