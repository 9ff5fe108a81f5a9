#include "runtime/running_operation.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {

namespace {

std::string explained(const std::string& text) {
  const ErrorScene scene{
      .rank = 1, .group = {}, .operation = "all_reduce", .detail = {}, .sequence = 3, .purpose = "a test"};
  return explain(scene, {ErrorCode::kPeerLeft, text}).what();
}

}  // namespace

TEST(RunningOperation, AnExplainedErrorEndsAsASentenceDoes) {
  EXPECT_EQ(explained("rank 2 has left the group"), "Rank 1: all_reduce #3, a test: rank 2 has left the group.");
  EXPECT_EQ(explained("did all ranks ask for the same number of operations?"),
            "Rank 1: all_reduce #3, a test: did all ranks ask for the same number of operations?");
  EXPECT_EQ(explained("rank 2 has left. It is late."), "Rank 1: all_reduce #3, a test: rank 2 has left. It is late.");
}

}  // namespace lockstep
