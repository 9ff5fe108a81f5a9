#include "schedule/builder.h"
#include "schedule/drawing.h"
#include "schedule/drawing_arrows.h"
#include "schedule/xml_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <regex>

namespace lockstep {

namespace {

using testing::HasSubstr;
using testing::Not;

/// All to one and back, every chunk.
Schedule chunked_star(int ranks, int chunks = 1) {
  ScheduleBuilder s({.name = "star", .ranks = ranks, .chunks = chunks});
  for (const bool gathers : {true, false}) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int rank = 1; rank < ranks; ++rank) {
        if (gathers) s.reduce(chunk, {.from = rank, .to = 0});
        if (!gathers) s.copy(chunk, {.from = 0, .to = rank});
      }
    }
    s.end_step();
  }
  return s.take();
}

int arrows(const std::string& svg, std::string_view kind) {
  return xml::count(svg, "<path class=\"" + std::string(kind) + " l");
}

}  // namespace

TEST(DrawingSvg, HasAnArrowForEachTransferOfItsKind) {
  const std::string svg = draw_svg(chunked_star(5, 2));
  EXPECT_TRUE(xml::is_well_formed(svg));
  EXPECT_EQ(arrows(svg, "reduce"), 8);
  EXPECT_EQ(arrows(svg, "copy"), 8);
  EXPECT_EQ(xml::count(svg, "<g class=\"step\""), 2);
}

TEST(DrawingSvg, LabelsSayWhoHoldsWhat) {
  const std::string svg = draw_svg(chunked_star(3));
  EXPECT_THAT(svg, HasSubstr(">a1</text>"));
  EXPECT_EQ(xml::count(svg, ">a1+b1+c1</text>"), 4) << "once after the sum, three times after the copies";
  EXPECT_EQ(xml::count(svg, "class=\"label done\""), 4);
  EXPECT_EQ(xml::count(svg, ">step 1</text>"), 1);
}

TEST(DrawingSvg, SaysWhatItIsToThoseWhoCannotSeeIt) {
  const std::string svg = draw_svg(chunked_star(3));
  EXPECT_THAT(svg, HasSubstr("<title id=\"title\">star: all_reduce on 3 ranks, 1 chunk, 2 steps, 4 transfers</title>"));
  EXPECT_THAT(svg, HasSubstr("Step 0: reduce chunk 0 from 1 to 0; reduce chunk 0 from 2 to 0. Step 1:"));
}

TEST(DrawingSvg, StandsAlone) {
  const std::string svg = draw_svg(chunked_star(4));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_THAT(svg, Not(HasSubstr("@import")));
  EXPECT_EQ(xml::count(svg, "http"), 1) << "the namespace only";
}

TEST(DrawingSvg, ArrowsStartAndEndAtTheirBoxesSideBySide) {
  const std::string svg = draw_svg(chunked_star(4));
  static const std::regex kArrow("class=\"reduce l[0-9]\" d=\"M([0-9.]+) [0-9.]+C[0-9. ]* ([0-9.]+) [0-9.]+\"");
  std::vector<double> starts, ends;
  for (std::sregex_iterator it(svg.begin(), svg.end(), kArrow), none; it != none; ++it) {
    starts.push_back(std::stod((*it)[1]));
    ends.push_back(std::stod((*it)[2]));
  }
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
  for (std::size_t i = 1; i < ends.size(); ++i) EXPECT_GT(ends[i], ends[i - 1] + 8) << "arrow heads would overlap";
}

TEST(DrawingSvg, DrawsTheFirstPartOfWhatIsLargeAndSaysSo) {
  const std::string chunks = draw_svg(chunked_star(16, 16));
  EXPECT_THAT(chunks, HasSubstr("Only the first 3 of 16 chunks are drawn."));
  EXPECT_EQ(arrows(chunks, "copy"), 3 * 15);
  Schedule schedule = chunked_star(8, 8);
  schedule.steps.resize(3000, schedule.steps.back());
  const std::string steps = draw_svg(schedule);
  EXPECT_TRUE(xml::is_well_formed(steps));
  EXPECT_THAT(steps, testing::ContainsRegex("Only the first [0-9]+ of 3000 steps are drawn[.]"));
  EXPECT_LT(steps.size(), 1'000'000U);
}

/// A file may list one transfer millions of times.
TEST(DrawingSvg, OfAStepThatIsTooLargeLittleIsWritten) {
  Schedule schedule = chunked_star(2);
  schedule.steps[1].resize(20'000, schedule.steps[1].front());
  const DrawingLayout layout(schedule);
  EXPECT_GT(draw_arrows(layout, schedule.steps[1], 0, 50, 1'000'000).size(), 1'000'000U);
  EXPECT_LT(draw_arrows(layout, schedule.steps[1], 0, 50, 1'000'000).size(), 1'001'000U);
  EXPECT_THAT(draw_svg(schedule), HasSubstr("Only the first 1 of 2 steps are drawn."));
}

TEST(DrawingSvg, TooManyRanksAreRefusedInASentence) {
  EXPECT_TRUE(xml::is_well_formed(draw_svg(chunked_star(64))));
  try {
    draw_svg(chunked_star(65));
    FAIL() << "drawn";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("A picture of 65 ranks would be too large to read; at most 64 are drawn."));
  }
}

TEST(DrawingSvg, ANameCannotBreakOutOfItsPlace) {
  Schedule schedule = chunked_star(2);
  schedule.name = "<script>\"&\x01";
  EXPECT_TRUE(xml::is_well_formed(draw_svg(schedule)));
  EXPECT_THAT(draw_svg(schedule), Not(HasSubstr("<script")));
  schedule.steps[0].push_back({TransferKind::kCopy, 0, 0, 9});
  EXPECT_THROW(draw_svg(schedule), Error);
}

TEST(WellFormed, TellsWhatIsNot) {
  EXPECT_TRUE(xml::is_well_formed("<?xml version=\"1.0\"?>\n<a b=\"1\"><c/>text &amp; more</a>\n"));
  for (const char* text : {"", "<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>", "x<a/>",
                           "<a b=\"<\"/>", "<a><b></a></b>", "<a"}) {
    EXPECT_FALSE(xml::is_well_formed(text)) << text;
  }
}

}  // namespace lockstep
