#include "transport/shm/here.h"

#include "base/limit_for_tests.h"
#include "transport/shm/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::shm {

TEST(SharedMemoryHere, WorksUnlessFilesMayNotBeLarge) {
  EXPECT_EQ(why_not_here(2), std::nullopt);
  {
    const testing_support::Limit files(RLIMIT_FSIZE, 4096);
    EXPECT_THAT(why_not_here(2).value_or(""),
                testing::HasSubstr("No file may be larger than 4096 bytes here (ulimit -f)"));
  }
  EXPECT_EQ(why_not_here(2), std::nullopt);
}

TEST(SharedMemoryHere, WorksForAsManyRanksAsThereIsAddressSpaceFor) {
  if (testing_support::kUnderAddressSanitizer || testing_support::kUnderThreadSanitizer) {
    GTEST_SKIP() << "sanitizers take most of the address space";
  }
  const testing_support::Limit space(RLIMIT_AS, 5 * Arena::default_bytes(4) / 2);
  EXPECT_EQ(why_not_here(2), std::nullopt);
  EXPECT_THAT(why_not_here(4).value_or(""), testing::HasSubstr("There is no address space for "));
}

TEST(SharedMemoryHere, WorksUnlessThereIsNoDescriptor) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  {
    const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
    EXPECT_THAT(why_not_here(2).value_or(""), testing::HasSubstr("memfd_create) failed: Too many open files"));
  }
  EXPECT_EQ(why_not_here(2), std::nullopt);
}

}  // namespace lockstep::shm
