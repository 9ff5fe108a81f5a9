#include "planner/pricing/sweep_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

constexpr auto kForm = Price::Source::kClosedForm;
constexpr auto kRun = Price::Source::kSimulated;
constexpr auto kNone = Price::Source::kNone;

}  // namespace

TEST(SweepText, SaysWhatCurvesAre) {
  Sweep sweep{.axis = Sweep::Axis::kBytes,
              .points = {64, 128},
              .curves = {{"ring", {1.0, 1.0}, {kForm, kForm}}, {"tree", {2.0, 2.0}, {kForm, kForm}}}};
  EXPECT_THAT(notes_on(sweep), testing::ElementsAre("curves: closed form"));
  sweep.curves.push_back({"mine", {3.0, 3.0}, {kRun, kForm}});
  EXPECT_THAT(notes_on(sweep),
              testing::ElementsAre("curves: closed form: ring, tree; simulated and closed form: mine"));
}

TEST(SweepText, SaysWhoIsNotComparedAndWhere) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks,
                    .points = {2, 4, 8, 16},
                    .curves = {{"ring", {1.0, {}, 1.0, 1.0}, {kRun, kNone, kRun, kRun}},
                               {"tree", {2.0, 2.0, 2.0, {}}, {kRun, kRun, kRun, kNone}},
                               {"mine", {{}, {}, {}, {}}, {kNone, kNone, kNone, kNone}},
                               {"yours", {{}, {}, {}, {}}, {kNone, kNone, kNone, kNone}},
                               {"star", {{}, {}, 3.0, {}}, {kNone, kNone, kRun, kNone}}}};
  EXPECT_THAT(notes_on(sweep),
              testing::ElementsAre("curves: simulated",
                                   "not compared, too much to price at each point: ring at 4; tree at 16; mine, yours; "
                                   "star from 2 to 4 and at 16"));
}

TEST(SweepText, SaysWhoIsTheFastestAtALastNumberThatIsNoPowerOfTwo) {
  const Sweep sweep{.axis = Sweep::Axis::kRanks,
                    .points = {2, 4, 5},
                    .curves = {{"ring", {1.0, 1.0, 2.0}}, {"tree", {1.0, 1.0, 1.0}}}};
  EXPECT_EQ(fastest_text(sweep), "2-4 ring (tree alike); at 5: tree");
  EXPECT_EQ(
      fastest_text(
          {.axis = Sweep::Axis::kRanks, .points = {2, 4}, .curves = {{"ring", {1.0, 1.0}}, {"tree", {1.0, 1.0}}}}),
      "2-4 ring (tree alike)");
  EXPECT_EQ(fastest_text({.axis = Sweep::Axis::kBytes, .points = {64}, .curves = {{"ring", {1.0}}}}), "64 B ring");
  EXPECT_EQ(fastest_text({.axis = Sweep::Axis::kRanks, .points = {2}, .curves = {{"ring", {{}}}}}),
            "nobody has a price");
}

}  // namespace lockstep
