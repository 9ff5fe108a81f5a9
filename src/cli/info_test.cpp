#include "cli/program_for_tests.h"

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
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
  EXPECT_EQ(lockstep_with({"info"}, {"LOCKSTEP_ALGORITHM=rign"}).code, 2);
  const Result wrong = lockstep_with({"info"}, {"LOCKSTEP_ALGORITHMS=all_reduce: rign"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("LOCKSTEP_ALGORITHMS, at 'rign': There is no algorithm 'rign'."));
}

}  // namespace lockstep
