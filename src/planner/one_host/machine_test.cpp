#include "planner/one_host/machine.h"
#include "topology/caches.h"
#include "topology/cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace lockstep {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

}  // namespace

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

TEST(Machine, StaysTheSameWithALittleMoreOrLessMemory) {
  const Machine before{.processor = "one", .cores = 4, .threads = 8, .memory_bytes = 16e9};
  Machine after = before;
  for (const double memory_bytes : {15.9e9, 16.1e9, 14.5e9, 17.5e9}) {
    after.memory_bytes = memory_bytes;
    EXPECT_EQ(before, after) << memory_bytes;
    EXPECT_EQ(after, before) << memory_bytes;
  }
  for (const double memory_bytes : {0.0, 8e9, 14e9, 18e9, 32e9}) {
    after.memory_bytes = memory_bytes;
    EXPECT_NE(before, after) << memory_bytes;
  }
}

TEST(Machine, AnotherDiffersInWhatIsNamed) {
  const Machine here{.processor = "one",
                     .cores = 4,
                     .threads = 8,
                     .memory_bytes = 1 << 30,
                     .cache_bytes_first = 32 << 10,
                     .cache_bytes_a_core = 1 << 20,
                     .cache_bytes_shared = 32 << 20};
  EXPECT_THAT(differences(here, here), IsEmpty());
  Machine there = here;
  there.processor = "another";
  EXPECT_THAT(differences(there, here), ElementsAre("processor: another, here one"));
  there = here;
  there.cores = 8;
  there.threads = 16;
  EXPECT_THAT(differences(there, here), ElementsAre("cores: 8, here 4", "threads: 16, here 8"));
  there = here;
  there.memory_bytes = 512 << 20;
  there.cache_bytes_shared = 0;
  EXPECT_THAT(differences(there, here), ElementsAre("memory: 512 MiB, here 1 GiB",
                                                    "caches: 32 KiB, 1 MiB and 0 B, here 32 KiB, 1 MiB and 32 MiB"));
  for (double Machine::*bytes :
       {&Machine::cache_bytes_first, &Machine::cache_bytes_a_core, &Machine::cache_bytes_shared}) {
    there = here;
    there.*bytes += 64;
    EXPECT_NE(there, here);
  }
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
