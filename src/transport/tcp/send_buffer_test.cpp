#include "transport/tcp/send_buffer.h"

#include <gtest/gtest.h>

namespace lockstep::tcp {

TEST(SendBuffer, IsAskedForWhereThatGivesMoreThanLettingItGrow) {
  EXPECT_EQ(send_buffer_bytes("4194304\n", "4096\t16384\t4194304\n"), 4194304) << "twice that is given";
  EXPECT_EQ(send_buffer_bytes("212992\n", "4096\t16384\t4194304\n"), std::nullopt) << "most systems";
  EXPECT_EQ(send_buffer_bytes("1000000000\n", "4096\t16384\t4194304\n"), 16 << 20) << "enough is enough";
}

TEST(SendBuffer, IsLeftAloneWhereTheSystemSaysNothing) {
  EXPECT_EQ(send_buffer_bytes("", ""), std::nullopt);
  EXPECT_EQ(send_buffer_bytes("much", "4096 16384 4194304"), std::nullopt);
  EXPECT_EQ(send_buffer_bytes("4194304", "4096"), std::nullopt);
}

TEST(SendBuffer, IsSmallWhereRanksThatShareCoresTakeTurns) { EXPECT_EQ(send_buffer_bytes(true), 512 << 10); }

}  // namespace lockstep::tcp
