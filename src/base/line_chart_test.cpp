#include "base/line_chart.h"

#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace lockstep::svg {

namespace {

using testing::HasSubstr;
using testing::Not;

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }

LineChart chart_of(std::vector<LineChart::Line> lines) {
  return {.title = "R&D", .x_title = "bytes", .x = {64, 128, 256}, .x_text = bytes_text, .lines = std::move(lines)};
}

/// How often `part` stands in `text`.
int occurrences(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST(LineChart, HasALineWithItsNameForEachSubject) {
  const std::string picture = to_text(chart_of({{"a<b", {1e-6, 2e-6, 4e-6}}, {"flat", {3e-6, 3e-6, 3e-6}}}));
  EXPECT_THAT(picture, testing::StartsWith("<?xml"));
  EXPECT_THAT(picture, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(picture, HasSubstr(">a&lt;b</text>"));
  EXPECT_THAT(picture, HasSubstr(">flat</text>"));
  EXPECT_THAT(picture, HasSubstr(">R&amp;D</text>"));
  EXPECT_THAT(picture, HasSubstr("Lines: a&lt;b; flat."));
  EXPECT_EQ(occurrences(picture, "class=\"line\""), 2);
  EXPECT_EQ(occurrences(picture, "class=\"mark\""), 8) << "one a point, one beside each name";
  EXPECT_THAT(picture, HasSubstr("<title>flat, 128 B: 3.00 us</title>"));
}

TEST(LineChart, AxesAreLogarithmicAndEndAtWholeDecades) {
  const std::string picture = to_text(chart_of({{"double", {1e-6, 2e-6, 4e-6}}}));
  EXPECT_THAT(picture, HasSubstr("M74 460H660\"/><text x=\"66\" y=\"464\" text-anchor=\"end\">1 us</text>"));
  EXPECT_THAT(picture, HasSubstr(">10 us</text>"));
  EXPECT_THAT(picture, Not(HasSubstr(">100 us</text>")));
  EXPECT_THAT(picture, HasSubstr("x=\"367\" y=\"478\" text-anchor=\"middle\">128 B</text>")) << "half way";
  EXPECT_THAT(picture, HasSubstr("d=\"M74 460L367 337.2L660 214.4\"")) << "a power law is a straight line";
}

TEST(LineChart, DecadesHaveTheirUnits) {
  const std::string picture = to_text(chart_of({{"wide", {2e-9, 1e-3, 30}}}));
  for (const char* label : {">1 ns<", ">100 ns<", ">1 us<", ">10 ms<", ">1 s<", ">100 s<"}) {
    EXPECT_THAT(picture, HasSubstr(label));
  }
}

TEST(LineChart, AGapPartsALine) {
  const LineChart chart{.title = "gap",
                        .x_title = "ranks",
                        .x = {1, 2, 4, 8, 16},
                        .x_text = bytes_text,
                        .lines = {{"gap", {1e-6, 1e-6, {}, 1e-6, 1e-6}}, {"none", {{}, {}, {}, {}, 0.0}}}};
  EXPECT_THAT(to_text(chart), HasSubstr("d=\"M74 460L220.5 460M513.5 460L660 460\""));
}

TEST(LineChart, IsAsWideAsItsNamesNeed) {
  EXPECT_THAT(to_text(chart_of({{"short", {1e-6, 1e-6, 1e-6}}})), HasSubstr("viewBox=\"0 0 860 520\""));
  const LineChart::Line named{std::string(40, 'x'), {1e-6, 1e-6, 1e-6}};
  EXPECT_THAT(to_text(chart_of({named})), HasSubstr("viewBox=\"0 0 1010 520\""));
}

TEST(LineChart, ACircleIsWhereItsValuesAre) {
  LineChart chart = chart_of({{"double", {1e-6, 2e-6, 4e-6}}});
  chart.circles.push_back({128, 2e-6, "a<b"});
  EXPECT_THAT(to_text(chart), HasSubstr(R"(<circle class="circle" cx="367" cy="337.2" r="6"><title>a&lt;b</title>)"));
}

TEST(LineChart, NamesDoNotCoverEachOther) {
  const std::string picture = to_text(chart_of({{"one", {{}, {}, 1e-6}}, {"two", {{}, {}, 1e-6}}}));
  EXPECT_THAT(picture, HasSubstr("y=\"464\">two</text>"));
  EXPECT_THAT(picture, HasSubstr("y=\"447\">one</text>"));
}

TEST(LineChart, NoTwoOfManyLinesLookAlike) {
  constexpr int kMany = 20;
  std::vector<LineChart::Line> lines;
  lines.reserve(kMany);
  for (int i = 0; i < kMany; ++i) lines.push_back({"line", {1e-6, 1e-6, 1e-6}});
  const std::string picture = to_text(chart_of(lines));
  std::set<std::string> looks;
  const std::string begin = R"(<path class="line" d="M74 460L367 460L660 460" )";
  for (std::size_t at = picture.find(begin); at != std::string::npos; at = picture.find(begin, at + 1)) {
    looks.insert(picture.substr(at, picture.find("/>", at) - at));
  }
  EXPECT_EQ(looks.size(), lines.size());
}

TEST(LineChart, SaysWhereThereIsNothingToDraw) {
  LineChart chart = chart_of({{"none", {{}, {}, {}}}});
  EXPECT_THAT(to_text(chart), HasSubstr("There is nothing to draw."));
  chart.nothing = "No price.";
  EXPECT_THAT(to_text(chart), HasSubstr(">No price.</text>"));
}

}  // namespace lockstep::svg
