#include "base/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace lockstep::svg {

namespace {

/// Relative luminance in sRGB of "#rrggbb", from 0 to 1.
double luminance(std::string_view colour) {
  constexpr std::array kWeights{0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < kWeights.size(); ++i) {
    const double value = std::stoi(std::string(colour.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    sum += kWeights[i] * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}

/// CIE L*, from 0 to 100, of what is not almost black.
double lightness(std::string_view colour) { return 116 * std::cbrt(luminance(colour)) - 16; }

/// As the WCAG have it, from 1 to 21.
double contrast_on_white(std::string_view colour) { return 1.05 / (luminance(colour) + 0.05); }

}  // namespace

TEST(Svg, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped(std::string_view("x\0\x1b\xff", 4)), "x???") << "no XML may hold these";
}

TEST(Svg, NumbersAreShort) {
  EXPECT_EQ(number(12), "12");
  EXPECT_EQ(number(12.25), "12.3");
  EXPECT_EQ(number(-0.01), "0") << "not -0";
  EXPECT_EQ(number(1e6), "1000000");
}

TEST(Svg, ADocumentNamesItselfAndNeedsNothingElse) {
  const std::string text =
      to_text({.width = 10, .height = 20.5, .title = "a<b", .description = "what", .body = "<g/>\n"});
  EXPECT_THAT(text, testing::StartsWith(
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(text, testing::HasSubstr("viewBox=\"0 0 10 20.5\""));
  EXPECT_THAT(text, testing::HasSubstr("<title id=\"title\">a&lt;b</title>"));
  EXPECT_THAT(text, testing::EndsWith("<g/>\n</svg>\n"));
}

TEST(Svg, NeighboursAreTellableWithoutColours) {
  ASSERT_NEAR(lightness("#777777"), 50.03, 0.01);
  for (const auto& colours : {kColours, kLineColours}) {
    for (std::size_t i = 0; i < colours.size(); ++i) {
      const std::string_view next = colours[(i + 1) % colours.size()];
      EXPECT_GE(std::abs(lightness(colours[i]) - lightness(next)), 10) << colours[i] << " and " << next;
    }
  }
}

TEST(Svg, LinesStandOutFromAWhitePage) {
  ASSERT_NEAR(contrast_on_white("#767676"), 4.54, 0.01);
  for (const std::string_view colour : kLineColours) EXPECT_GE(contrast_on_white(colour), 3) << colour;
}

}  // namespace lockstep::svg
