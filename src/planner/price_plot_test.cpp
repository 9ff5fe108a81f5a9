#include "planner/price_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

TEST(PricePlot, DrawsALineWithItsNameForEachAlgorithm) {
  const Sweep sweep{.axis = Sweep::Axis::kBytes,
                    .points = {64, 128, 256},
                    .curves = {{"a<b", {1e-6, 2e-6, 4e-6}}, {"flat", {3e-6, {}, 3e-6}}}};
  const std::string picture = price_plot(sweep, "R&D");
  EXPECT_THAT(picture, testing::StartsWith("<svg xmlns"));
  EXPECT_THAT(picture, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(picture, testing::HasSubstr(">a&lt;b</text>"));
  EXPECT_THAT(picture, testing::HasSubstr(">flat</text>"));
  EXPECT_THAT(picture, testing::HasSubstr("R&amp;D"));
  EXPECT_THAT(picture, testing::HasSubstr(">256 B</text>"));
  EXPECT_THAT(picture, testing::HasSubstr(">10.0 us</text>"));
}

TEST(PricePlot, SaysWhereThereIsNothingToDraw) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks, .points = {2, 4}, .curves = {{"none", {{}, {}}}}};
  EXPECT_THAT(price_plot(sweep, "none"), testing::HasSubstr("There is no price to draw."));
}

}  // namespace lockstep
