#pragma once

#include "tests/conformance/worlds.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::conformance {

/// A suite that runs on every kind of world: derive it from this, and instantiate it by the macro below.
class OnEverySetting : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (const std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  /// Whether operations on registered memory differ from those on other memory.
  static bool has_registered() { return GetParam().medium == Medium::kSharedMemory; }
};

#define LOCKSTEP_ON_EVERY_SETTING(suite) \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(every_setting()), testing::PrintToStringParamName())

}  // namespace lockstep::conformance
