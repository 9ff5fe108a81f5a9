#include "transport/shm/here.h"

#include "transport/limit_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::shm {

TEST(SharedMemoryHere, WorksUnlessFilesMayNotBeLarge) {
  EXPECT_EQ(why_not_here(), std::nullopt);
  {
    const testing_support::Limit files(RLIMIT_FSIZE, 4096);
    EXPECT_THAT(why_not_here().value_or(""),
                testing::HasSubstr("No file may be larger than 4096 bytes here (ulimit -f)"));
  }
  EXPECT_EQ(why_not_here(), std::nullopt);
}

TEST(SharedMemoryHere, WorksUnlessThereIsNoDescriptor) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  {
    const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
    EXPECT_THAT(why_not_here().value_or(""), testing::HasSubstr("memfd_create) failed: Too many open files"));
  }
  EXPECT_EQ(why_not_here(), std::nullopt);
}

}  // namespace lockstep::shm
