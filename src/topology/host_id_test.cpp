#include "topology/host_id.h"

#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep {

TEST(HostId, IsTheBootsUnlessTheEnvironmentSaysAnother) {
  ASSERT_EQ(::unsetenv(kHostVariable), 0);
  EXPECT_THAT(boot_id(), testing::MatchesRegex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
  EXPECT_EQ(host_id(), boot_id());
  ASSERT_EQ(::setenv(kHostVariable, "left", 1), 0);
  EXPECT_EQ(host_id(), "left");
  ASSERT_EQ(::setenv(kHostVariable, "", 1), 0);
  EXPECT_EQ(host_id(), boot_id()) << "empty is unset";
  ASSERT_EQ(::unsetenv(kHostVariable), 0);
}

}  // namespace lockstep
