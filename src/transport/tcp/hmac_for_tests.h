#pragma once

#include "transport/tcp/hmac.h"

#include <gtest/gtest.h>

namespace lockstep::tcp {

/// Tests of what proves a secret; skipped where nothing can.
class WithHmac : public testing::Test {
 protected:
  void SetUp() override {
    if (!hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  }
};

}  // namespace lockstep::tcp
