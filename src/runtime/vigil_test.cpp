#include "runtime/vigil.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockstep {
namespace {

TEST(Vigil, EndsAfterSoManyTries) {
  Vigil vigil;
  EXPECT_TRUE(vigil.stay_awake(1));
  EXPECT_FALSE(vigil.stay_awake(1));
  EXPECT_FALSE(vigil.stay_awake(1)) << "asked again";
  vigil.begin_anew();
  EXPECT_TRUE(vigil.stay_awake(1));
}

TEST(Vigil, IsNoneWithoutPatience) {
  Vigil vigil;
  EXPECT_FALSE(vigil.stay_awake(0));
}

TEST(Vigil, EndsWhereOthersTakeLong) {
  Vigil vigil;
  constexpr int kMany = 1'000'000;
  int tries = 0;
  while (tries < kMany && vigil.stay_awake(kMany)) {
    std::this_thread::sleep_for(Vigil::kLongest);
    ++tries;
  }
  EXPECT_GT(tries, 0);
  EXPECT_LE(tries, 4) << "looks at the clock";
  vigil.begin_anew();
  EXPECT_TRUE(vigil.stay_awake(kMany));
}

}  // namespace
}  // namespace lockstep
