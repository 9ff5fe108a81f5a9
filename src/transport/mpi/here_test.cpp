#include "transport/mpi/here.h"

#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace lockstep::mpi {

/// Asked in a process of its own: the library is looked for once a process. Says the same however often it is asked.
TEST(MpiHere, NeedsItsLibrary) {
  const auto ask = [](const char* library) {
    ::setenv(kMpiLibraryVariable, library, 1);
    (void)why_not_here();
    std::fputs(why_not_here().value_or("it works").c_str(), stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(ask("/no/such.so"), testing::ExitedWithCode(0),
              "The transport mpi needs liblockstep-mpi.so, which is built where CMake finds MPI.*/no/such.so");
  EXPECT_EXIT(ask("libm.so.6"), testing::ExitedWithCode(0),
              "The transport mpi needs liblockstep-mpi.so.*libm.so.6: of another version of Lockstep");
}

}  // namespace lockstep::mpi
