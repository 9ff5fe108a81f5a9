#include "planner/pricing/price_plot.h"

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

TEST(PricePlot, HasACircleWhereTwoCross) {
  const Sweep sweep{
      .axis = Sweep::Axis::kBytes, .points = {64, 256}, .curves = {{"ring", {4e-6, 4e-6}}, {"tree", {1e-6, 16e-6}}}};
  // They meet a fifth of the way, at 102.4 bytes. Of the decades from 1 to 100 us, 4 us are log10(4) / 2.
  EXPECT_THAT(
      price_plot(sweep, ""),
      testing::HasSubstr(R"(<circle class="circle" cx="272.7" cy="337.2" r="6"><title>102 B: from here on ring )"
                         "is faster than tree</title>"));
}

TEST(PricePlot, CountsRanks) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks, .points = {512, 1024}, .curves = {{"ring", {1e-6, 2e-6}}}};
  EXPECT_THAT(price_plot(sweep, ""), testing::HasSubstr(">1,024</text>"));
  EXPECT_THAT(price_plot(sweep, ""), testing::HasSubstr(">ranks</text>"));
}

TEST(PricePlot, OfRanksACircleIsAtAPowerOfTwoAndAnotherLastNumberStandsAlone) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks,
                    .points = {2, 4, 5},
                    .curves = {{"ring", {4e-6, 4e-6, 4e-6}}, {"tree", {1e-6, 16e-6, 1e-6}}}};
  const std::string picture = price_plot(sweep, "");
  EXPECT_THAT(picture,
              testing::HasSubstr("<title>4: from here on, at powers of two, ring is faster than tree</title>"));
  EXPECT_THAT(picture, testing::Not(testing::HasSubstr("tree is faster than ring")));
  EXPECT_THAT(picture, testing::ContainsRegex("d=\"M[0-9. ]*L[0-9. ]*M[0-9. ]*\""));
}

TEST(PricePlot, SaysWhereThereIsNothingToDraw) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks, .points = {2, 4}, .curves = {{"none", {{}, {}}}}};
  EXPECT_THAT(price_plot(sweep, "none"), testing::HasSubstr("There is no price to draw."));
}

TEST(PricePlot, SaysWhatItsLinesAreAndWhoHasNone) {
  const Sweep sweep{
      .axis = Sweep::Axis::kRanks,
      .points = {2, 4},
      .curves = {{"ring", {1.0, 1.0}, {Price::Source::kClosedForm, Price::Source::kClosedForm}}, {"none", {{}, {}}}}};
  EXPECT_THAT(price_plot(sweep, ""),
              testing::AllOf(testing::HasSubstr(">curves: closed form</text>"),
                             testing::HasSubstr(">not compared, too much to price at each point: none</text>")));
}

}  // namespace lockstep
