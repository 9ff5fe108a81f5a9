#include "cli/program_for_tests.h"

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::Result;

TEST(CliInfo, AsksEachTransportWhetherItWorksHere) {
  const Result without_mpi = lockstep_with({"info"}, {"LOCKSTEP_MPI_LIBRARY=/no/such.so"});
  EXPECT_THAT(without_mpi.output,
              AllOf(HasSubstr("\n  shm      works here, between the ranks of a host\n"), HasSubstr("\n  tcp      "),
                    HasSubstr("\n  mpi      does not work here: The transport mpi needs liblockstep-mpi.so")));
  const Result small_files =
      testing_support::run_command({"sh", "-c", "ulimit -f 1000; exec " LOCKSTEP_PROGRAM " info"});
  EXPECT_THAT(small_files.output, HasSubstr("\n  shm      does not work here: No file may be larger than "));
}

TEST(CliInfo, ListsWhatThereIs) {
  const Result result = lockstep_with({"info"}, {"LOCKSTEP_ALGORITHM=ring"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("shm      "), HasSubstr("\n  direct "), HasSubstr("\n  tree "),
                                   testing::ContainsRegex("LOCKSTEP_ALGORITHM +ring ")));
  const Result chosen = lockstep_with({"info"}, {"LOCKSTEP_ALGORITHMS=all_reduce: 0-4KiB tree, 4KiB- ring"});
  EXPECT_THAT(chosen.output,
              AllOf(HasSubstr("all_reduce: 0-4KiB tree, 4KiB- ring;"), HasSubstr("LOCKSTEP_ALGORITHMS")));
  EXPECT_THAT(result.output, HasSubstr("\nLOCKSTEP_ALGORITHM: 'ring' runs in place of what follows, in the "
                                       "collectives that it does\n"));
  const Result no_such = lockstep_with({"info"}, {"LOCKSTEP_ALGORITHM=rign"});
  EXPECT_EQ(no_such.code, 2);
  EXPECT_THAT(no_such.errors, HasSubstr("LOCKSTEP_ALGORITHM: There is no algorithm 'rign'. Did you mean 'ring'?"));
  const Result wrong = lockstep_with({"info"}, {"LOCKSTEP_ALGORITHMS=all_reduce: rign"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("LOCKSTEP_ALGORITHMS, at 'rign': There is no algorithm 'rign'."));
}

class CliInfoFiles : public testing_support::TemporaryFolder {};

TEST_F(CliInfoFiles, SaysWhatStandsInPlaceOfACalibrationAndPrintsNoneOfItsBytes) {
  const std::vector<std::string> cache{"XDG_CACHE_HOME=" + folder_.string()};
  const std::filesystem::path place = folder_ / "lockstep" / "calibration.json";
  std::filesystem::create_directories(place);
  EXPECT_THAT(lockstep_with({"info"}, cache).output,
              HasSubstr(" (built in, since " + place.string() + " is no file, and no calibration; remove it, and "));
  std::filesystem::remove(place);
  write("lockstep/calibration.json", "\x1b[2J\xff\xfe\x7f", kPlainFile);
  const Result binary = lockstep_with({"info"}, cache);
  EXPECT_THAT(binary.output, HasSubstr(" (built in, since " + place.string() + " is no calibration ("));
  EXPECT_THAT(binary.output, testing::Each(testing::AnyOf('\n', testing::AllOf(testing::Ge(' '), testing::Le('~')))));
}

/// What is built in depends on it, and of two hosts on whether both have as many.
TEST(CliInfo, PrintsTheSelectionOfAsManyRanksAsAreAskedFor) {
  const std::vector<std::string> uncalibrated{"XDG_CACHE_HOME=/no/such"};
  const std::string two = lockstep_with({"info", "-n", "2"}, uncalibrated).output;
  const std::string many = lockstep_with({"info", "-n", "4096"}, uncalibrated).output;
  for (const char* medium : {"shm", "tcp"}) {
    EXPECT_THAT(two, HasSubstr(std::string("\nauto, on 2 ranks over ") + medium + " (built in)\n  all_reduce: 0-"));
    EXPECT_THAT(many, HasSubstr(std::string("\nauto, on 4096 ranks over ") + medium + " (built in)\n  all_reduce: 0-"));
  }
  const auto over_shared_memory = [](const std::string& text) {
    const std::size_t begin = text.find('\n', text.find(" over shm ("));
    return text.substr(begin, text.find("\n\n", begin) - begin);
  };
  EXPECT_NE(over_shared_memory(two), over_shared_memory(many));
  const std::string given_back =
      lockstep_with({"info", "-n", "2"}, {"LOCKSTEP_ALGORITHMS=" + over_shared_memory(many)}).output;
  EXPECT_EQ(over_shared_memory(given_back), over_shared_memory(many)) << "line by line, as it is printed";
  EXPECT_THAT(lockstep_with({"info", "-n", "6"}, uncalibrated).output,
              HasSubstr("\nauto, on two hosts with 3 and 3 ranks\n  all_reduce: 0-24KiB hierarchical:"));
  EXPECT_THAT(lockstep_with({"info", "-n", "5"}, uncalibrated).output,
              HasSubstr("\nauto, on two hosts with 3 and 2 ranks\n  all_reduce: 0-24KiB hierarchical:"));
  EXPECT_THAT(lockstep_with({"info", "-n", "1"}, uncalibrated).output,
              AllOf(HasSubstr("\nauto, on 1 rank over shm "), Not(HasSubstr("two hosts"))));
  EXPECT_THAT(lockstep_with({"info", "-n", "010"}, uncalibrated).output, HasSubstr("auto, on 10 ranks over"))
      << "decimal";
  for (const char* ranks : {"0", "-2", "many", "2.5", "99999999999"}) {
    expect_usage_error({"info", "-n", ranks}, std::string("-n takes a number of ranks, a whole number from 1 to "
                                                          "2147483647; '") +
                                                  ranks + "' is not one.");
  }
  expect_usage_error({"info", "-n", "1048577"}, "printed for at most 1,048,576 ranks; -n says 1048577.");
}

TEST(CliInfo, ShowsWhatAJobThatIsStartedFromHereWouldRun) {
  const auto shown = [](const std::string& before, const std::string& cpus) {
    return testing_support::run_command({"sh", "-c", "exec " + before + LOCKSTEP_PROGRAM " info -n 2"},
                                        {.environment = {"XDG_CACHE_HOME=/no/such", "LOCKSTEP_CPUS=" + cpus}})
        .output;
  };
  const std::string on_one_core = "\n  all_reduce: 0-32KiB naive, 32KiB- star;";
  EXPECT_THAT(shown("taskset -c 0 ", ""), HasSubstr(on_one_core));
  EXPECT_THAT(shown("", "1"), HasSubstr(on_one_core)) << "as a rank";
  EXPECT_THAT(shown("", "2"), Not(HasSubstr(on_one_core)));
}

TEST(CliInfo, RefusesVariablesThatNoJobWouldTake) {
  for (const auto& [variable, sentence] :
       {std::pair{"LOCKSTEP_REDUCTION=canonicl", "LOCKSTEP_REDUCTION is 'canonicl'. Did you mean 'canonical'?"},
        std::pair{"LOCKSTEP_TRANSPORT=tpc", "LOCKSTEP_TRANSPORT is 'tpc'. Did you mean 'tcp'?"},
        std::pair{"LOCKSTEP_TIMEOUT=soon", "The environment variable LOCKSTEP_TIMEOUT: 'soon' is not a time"},
        std::pair{"LOCKSTEP_CPUS=0", "The environment variable LOCKSTEP_CPUS is '0'; ranks have 1 CPU or more."},
        std::pair{"LOCKSTEP_CPUS=all", "The environment variable LOCKSTEP_CPUS is 'all', which is not a whole number."},
        std::pair{"LOCKSTEP_JOIN_TIMEOUT=0s", "LOCKSTEP_JOIN_TIMEOUT is '0s'; it takes a millisecond or more."}}) {
    const Result wrong = lockstep_with({"info"}, {variable});
    EXPECT_EQ(wrong.code, 2) << variable;
    EXPECT_THAT(wrong.errors, HasSubstr(sentence));
    EXPECT_EQ(wrong.output, "");
  }
  EXPECT_EQ(lockstep_with({"info"}, {"LOCKSTEP_REDUCTION=canonical", "LOCKSTEP_TRANSPORT=mpi", "LOCKSTEP_TIMEOUT=5s",
                                     "LOCKSTEP_JOIN_TIMEOUT=5s"})
                .code,
            0);
}

/// On one host no other transport would run it.
TEST(CliInfo, TellsTheSelectionOverMpiWhereThatIsAskedFor) {
  EXPECT_THAT(lockstep_with({"info", "-n", "2"}, {}).output, Not(HasSubstr("auto, on 2 ranks over mpi")));
  const Result asked = lockstep_with({"info", "-n", "2"}, {"LOCKSTEP_TRANSPORT=mpi"});
  EXPECT_THAT(asked.output, HasSubstr("\nauto, on 2 ranks over mpi (built in)\n  all_reduce:"));
  EXPECT_THAT(asked.output, HasSubstr("\nauto, on 2 ranks over shm ("));
}

}  // namespace lockstep
