#include "report/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace lockstep {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Curve, AFallingLineFallsFromTheLeftTopToTheRightBottom) {
  EXPECT_EQ(draw_curve({3, 2, 1}, 18, 3, {.unicode = false}),
            "      3 |**\n"
            "        |  ****\n"
            "      1 |      ***\n"
            "        +---------\n"
            "         1       3\n");
}

TEST(Curve, ASteepStepHasNoHoles) {
  EXPECT_EQ(draw_curve({1, 1, 1, 1, 9, 9, 9, 9}, 17, 4, {.unicode = false, .first = 101}),
            "      9 |    ****\n"
            "        |    *\n"
            "        |    *\n"
            "      1 |****\n"
            "        +--------\n"
            "         101  108\n");
}

TEST(Curve, BrailleHasEightDotsToACharacter) {
  const std::vector<std::string> lines = lines_of(draw_curve(std::vector<double>(100, 5.0), 30, 3));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], StartsWith("      5 │"));
  EXPECT_THAT(lines[2], StartsWith("      5 │"));
  std::string level;
  for (int i = 0; i < 21; ++i) level += "⠤";
  EXPECT_THAT(lines[1], HasSubstr(level)) << "a constant runs through the middle";
}

TEST(Curve, KeepsToItsSizeHoweverManyValues) {
  for (const std::size_t count : {1u, 2u, 50u, 100000u}) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = std::exp(-static_cast<double>(i) / static_cast<double>(count));
    const std::vector<std::string> lines = lines_of(draw_curve(values, 60, 8, {.unicode = false}));
    EXPECT_EQ(lines.size(), 10u);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 60u);
    EXPECT_THAT(lines.back(), HasSubstr(std::to_string(count)));
  }
}

TEST(Curve, TheAxisEndsWhereTheIterationsDo) {
  const std::vector<std::string> lines =
      lines_of(draw_curve({3, 2, 1}, 60, 8, {.unicode = false, .first = 7, .last = 6314}));
  EXPECT_THAT(lines.back(), testing::AllOf(HasSubstr(" 7 "), HasSubstr("6314")));
}

TEST(Curve, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(draw_curve({}, 60, 8), "");
  EXPECT_EQ(draw_curve({nan, HUGE_VAL}, 60, 8), "");
  EXPECT_EQ(draw_curve({3, nan, 1}, 18, 3, {.unicode = false}), draw_curve({3, 2, 1}, 18, 3, {.unicode = false}));
}

}  // namespace lockstep
