#include "schedule/drawing.h"

#include "schedule/builder.h"
#include "schedule/segmented.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace lockstep {

namespace {

using testing::HasSubstr;
using testing::Not;

Schedule star(int ranks, Collective collective = Collective::kAllReduce) {
  ScheduleBuilder s({.name = "star", .collective = collective, .ranks = ranks, .chunks = 1});
  if (collective == Collective::kAllReduce) {
    for (int rank = 1; rank + 1 < ranks; ++rank) s.reduce(0, {.from = rank, .to = 0});
    s.end_step();
    s.reduce(0, {.from = ranks - 1, .to = 0});
    s.end_step();
  }
  for (int rank = 1; rank < ranks; ++rank) s.copy(0, {.from = 0, .to = rank});
  return s.take();
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace

TEST(Drawing, ShowsTransfersAndWhoHoldsWhat) {
  EXPECT_EQ(draw_text(star(3)),
            "star: all_reduce on 3 ranks, 1 chunk, 3 steps, 4 transfers\n"
            "Ranks across, chunks down; . is empty.\n"
            "a1 is rank 0's part of chunk 0, b1 rank 1's, a1+b1 their sum.\n"
            "\n"
            "start\n"
            "           rank 0    rank 1    rank 2\n"
            "  chunk 0  a1        b1        c1\n"
            "\n"
            "step 0\n"
            "  reduce chunk 0: 1 -> 0\n"
            "           rank 0    rank 1    rank 2\n"
            "  chunk 0  a1+b1     b1        c1\n"
            "\n"
            "step 1\n"
            "  reduce chunk 0: 2 -> 0\n"
            "           rank 0    rank 1    rank 2\n"
            "  chunk 0  a1+b1+c1  b1        c1\n"
            "\n"
            "step 2\n"
            "  copy chunk 0: 0 -> 1, 0 -> 2\n"
            "           rank 0    rank 1    rank 2\n"
            "  chunk 0  a1+b1+c1  a1+b1+c1  a1+b1+c1\n");
}

TEST(Drawing, MarksWhatIsEmpty) {
  EXPECT_THAT(draw_text(star(2, Collective::kBroadcast)), HasSubstr("  chunk 0  a1      .\n"));
}

TEST(Drawing, ShortensBeforeItGivesUpTheTables) {
  const std::string five = draw_text(star(5), 80);
  EXPECT_THAT(five, HasSubstr("* is complete"));
  EXPECT_THAT(five, HasSubstr("  chunk 0  a1+b1+c1+d1  b1 "));
  EXPECT_THAT(five, HasSubstr("  chunk 0  *            b1 "));
  EXPECT_LE(widest_line(five), 80U);
  const std::string eight = draw_text(star(8), 80);
  EXPECT_THAT(eight, HasSubstr("r0 "));
  EXPECT_THAT(eight, HasSubstr("a-g "));
  EXPECT_LE(widest_line(eight), 80U);
  const std::string many = draw_text(star(64), 80);
  EXPECT_THAT(many, HasSubstr("do not fit 80 columns"));
  EXPECT_THAT(many, HasSubstr("copy chunk 0: 0 -> 1, 0 -> 2"));
  EXPECT_THAT(many, Not(HasSubstr("start")));
  EXPECT_LE(widest_line(many), 80U);
}

/// What is said in the place of the tables: why, and of JSON only where it has them.
TEST(Drawing, SaysWhyThereAreNoTablesAndWhereTheyAre) {
  const auto said = [](const Schedule& schedule) {
    std::istringstream lines(draw_text(schedule));
    std::string line;
    std::getline(lines, line);
    std::getline(lines, line);
    EXPECT_EQ(line.ends_with("; --format json has them."),
              nlohmann::json::parse(draw_json(schedule)).contains("start"));
    return line;
  };
  EXPECT_EQ(said(star(64)), "The tables of who holds what do not fit 120 columns here; --format json has them.");
  EXPECT_EQ(said(star(700)), "The tables of who holds what do not fit 120 columns here.");
  EXPECT_EQ(said(segmented(star(2), 150)),
            "The tables of who holds what have 22952 lines, and at most 20000 are shown; --format json has them.");
  EXPECT_EQ(said(segmented(star(8), 150)),
            "The tables of who holds what have 23103 lines, and at most 20000 are shown.");
}

TEST(Drawing, JsonSaysTheSame) {
  const auto json = nlohmann::json::parse(draw_json(star(3)));
  EXPECT_EQ(json["collective"], "all_reduce");
  EXPECT_EQ(json["ranks"], 3);
  ASSERT_EQ(json["steps"].size(), 3U);
  EXPECT_EQ(json["steps"][0]["transfers"][0],
            nlohmann::json({{"kind", "reduce"}, {"chunk", 0}, {"from", 1}, {"to", 0}}));
  EXPECT_EQ(json["start"][0][2], nlohmann::json({2}));
  EXPECT_EQ(json["steps"][0]["holds"][0][0], nlohmann::json({0, 1}));
  EXPECT_EQ(json["steps"][2]["holds"][0][2], nlohmann::json({0, 1, 2}));
}

TEST(Drawing, JsonOfALargeScheduleLeavesOutWhoHoldsWhat) {
  const auto json = nlohmann::json::parse(draw_json(star(700)));
  EXPECT_FALSE(json.contains("start"));
  EXPECT_EQ(json["steps"][2]["transfers"].size(), 699U);
  EXPECT_FALSE(json["steps"][0].contains("holds"));
}

TEST(Drawing, RefusesWhatIsOutOfRange) {
  Schedule schedule = star(2);
  schedule.steps[0].push_back({TransferKind::kCopy, 0, 0, 9});
  EXPECT_THROW(draw_text(schedule), Error);
  EXPECT_THROW(draw_json(schedule), Error);
}

}  // namespace lockstep
