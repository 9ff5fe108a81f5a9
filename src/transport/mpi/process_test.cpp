#include "transport/mpi/process.h"

#include "base/error_for_tests.h"
#include "transport/mpi/calls_for_tests.h"

#include <gtest/gtest.h>

#include <array>

namespace lockstep::mpi {

using std::chrono::milliseconds;
using testing_support::refuses;

TEST(MpiProcess, WhatMpiSaysIsTheError) {
  Calls calls = calls_that_bring_nothing();
  const Process process(calls, milliseconds(10));
  const std::array<int, 2> ranks{0, 1};
  EXPECT_THAT([&] { (void)process.make_communicator(ranks, 4); },
              refuses(ErrorCode::kTransport, "MPI says: none is left"));
  Request request;
  EXPECT_THAT([&] { process.begin(request, 0, {}); }, refuses(ErrorCode::kTransport, "MPI says: it cannot"));
  calls.start = [](Started*, long) -> const char* { return "MPI says: not now"; };
  EXPECT_THAT([&] { const Process none(calls, milliseconds(10)); },
              refuses(ErrorCode::kTransport, "MPI says: not now"));
}

/// Of 100 tags five are for those who meet; the others are for groups of either rank, five each.
TEST(MpiProcess, TagsThatAreUsedUpAreSaid) {
  const Calls calls = calls_that_bring_nothing();
  const Process process(calls, milliseconds(10));
  const auto use_all = [&] {
    for (int groups = 0; groups < 20; ++groups) {
      const int tag = process.next_group();
      EXPECT_GE(tag, Process::kTagsAGroup);
      EXPECT_LE(tag + Process::kTagsAGroup - 1, process.most_tag());
    }
  };
  EXPECT_THAT(use_all, refuses(ErrorCode::kTransport,
                               "MPI has 100 tags, of which each group takes 5 for good, and rank 0 has none left for "
                               "another; make groups once, and keep them."));
}

}  // namespace lockstep::mpi
