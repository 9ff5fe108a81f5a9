#include "planner/host_model.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Machine, IsTheSameWheneverAsked) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 1 << 20);
  EXPECT_EQ(machine, this_machine());
}

}  // namespace lockstep
