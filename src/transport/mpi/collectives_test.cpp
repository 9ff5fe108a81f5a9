#include "transport/mpi/collectives.h"

#include "transport/mpi/calls_for_tests.h"

#include <gtest/gtest.h>

namespace lockstep::mpi {

/// Most groups hand nothing over. The call waits for all ranks without a deadline, and what it makes stays.
TEST(MpiCollectives, ACommunicatorIsMadeOnceForWhoHandsSomethingOver) {
  static int made = 0;
  static int begun = 0;
  Calls calls = calls_that_bring_nothing();
  calls.make_communicator = [](int* communicator, const int* ranks, int size, int tag) -> const char* {
    EXPECT_EQ(std::vector<int>(ranks, ranks + size), (std::vector<int>{1, 0}));
    EXPECT_EQ(tag, 9);
    *communicator = 70 + made++;
    return nullptr;
  };
  calls.begin = [](Request*, int communicator, const WholeCollective*) -> const char* {
    EXPECT_EQ(communicator, 70);
    ++begun;
    return nullptr;
  };
  calls.test = [](Request*, int* complete, std::size_t*, int*) -> const char* {
    *complete = 1;
    return nullptr;
  };
  const Process process(calls, std::chrono::milliseconds(10));
  Collectives group(process, 1, {1, 0}, 9);
  const auto barrier = group.prepare({});
  const auto another = group.prepare({});
  EXPECT_EQ(made, 0);
  for (VendorCollective* next : {barrier.get(), barrier.get(), another.get()}) {
    next->begin(nullptr, nullptr);
    EXPECT_TRUE(next->test());
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(begun, 3);
}

}  // namespace lockstep::mpi
