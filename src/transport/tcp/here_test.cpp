#include "transport/tcp/here.h"

#include "base/limit_for_tests.h"
#include "transport/tcp/hmac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::tcp {

TEST(TcpHere, WorksUnlessNotBuiltIn) {
  if (hmac_is_built_in()) {
    EXPECT_EQ(why_not_here(), std::nullopt);
  } else {
    EXPECT_THAT(why_not_here().value_or(""), testing::HasSubstr("no TCP transport, because OpenSSL was not found"));
  }
}

TEST(TcpHere, WorksUnlessThereIsNoDescriptor) {
  if (!hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  {
    const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
    EXPECT_THAT(why_not_here().value_or(""), testing::HasSubstr("Making a TCP socket failed: Too many open files"));
  }
  EXPECT_EQ(why_not_here(), std::nullopt);
}

}  // namespace lockstep::tcp
