#include "planner/price_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

TEST(PricePlot, HasALineForEachAlgorithm) {
  const Sweep sweep{.axis = Sweep::Axis::kBytes,
                    .points = {64, 128, 256},
                    .curves = {{"ring", {1e-6, 2e-6, 4e-6}}, {"flat", {3e-6, {}, 3e-6}}}};
  const std::string picture = price_plot(sweep, "a title");
  for (const char* part : {">a title</text>", ">ring</text>", ">flat</text>", ">bytes</text>", ">256 B</text>"}) {
    EXPECT_THAT(picture, testing::HasSubstr(part));
  }
}

TEST(PricePlot, CountsRanks) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks, .points = {512, 1024}, .curves = {{"ring", {1e-6, 2e-6}}}};
  EXPECT_THAT(price_plot(sweep, ""), testing::HasSubstr(">1,024</text>"));
  EXPECT_THAT(price_plot(sweep, ""), testing::HasSubstr(">ranks</text>"));
}

TEST(PricePlot, SaysWhereThereIsNothingToDraw) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks, .points = {2, 4}, .curves = {{"none", {{}, {}}}}};
  EXPECT_THAT(price_plot(sweep, "none"), testing::HasSubstr("There is no price to draw."));
}

}  // namespace lockstep
