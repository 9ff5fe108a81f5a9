#include "planner/one_host/machine.h"
#include "topology/caches.h"
#include "topology/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace lockstep {

TEST(Machine, IsTheSameWheneverAsked) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 1 << 20);
  EXPECT_EQ(machine, this_machine());
  EXPECT_EQ(machine.cache_bytes_first, static_cast<double>(cache_bytes(1)));
  EXPECT_EQ(machine.cache_bytes_a_core, static_cast<double>(cache_bytes(2)));
  EXPECT_EQ(machine.cache_bytes_shared, static_cast<double>(cache_bytes(3)));
}

/// The launcher binds every rank to its share of the cores, and each has to find what was calibrated on all of them.
TEST(Machine, IsTheSameForARankThatIsBound) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &before)) --last;
  cpu_set_t only_last;
  CPU_ZERO(&only_last);
  CPU_SET(last, &only_last);
  ASSERT_EQ(::sched_setaffinity(0, sizeof only_last, &only_last), 0);
  const Machine machine = this_machine();
  ::sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(machine.cores, machine_cpus().cores);
}

}  // namespace lockstep
