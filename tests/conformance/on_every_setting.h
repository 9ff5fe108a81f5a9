#pragma once

#include "tests/conformance/trial.h"
#include "tests/conformance/worlds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::conformance {

/// A suite that runs on every kind of world: derive it from this, and instantiate it by the macro below.
class OnEverySetting : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (const std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  /// Whether operations on registered memory differ from those on other memory.
  static bool has_registered() { return GetParam().medium == Medium::kSharedMemory; }
  /// All cases, one after the other in one new world of this kind, give what their collectives promise.
  static void expect_conforming(const std::vector<Case>& cases);
  /// Each gives every rank the same bytes, whatever the ranks bring, and however it is rounded on the way.
  static void expect_same_bytes(const std::vector<Case>& cases);
};

#define LOCKSTEP_ON_EVERY_SETTING(suite) \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(every_setting()), testing::PrintToStringParamName())

}  // namespace lockstep::conformance
