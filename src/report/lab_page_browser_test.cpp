#include "report/browser_for_tests.h"
#include "report/lab_example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep {

using testing::HasSubstr;
using testing::Not;

class LabBrowser : public Browser {};

TEST_F(LabBrowser, DrawsMeasuredPointsAndPredictedLines) {
  const std::string page = dom(example_lab());
  for (const char* name : {"ring", "direct"}) {
    EXPECT_THAT(curve(page, name), HasSubstr("data-points=\"9\"")) << name;
    EXPECT_THAT(curve(page, name), Not(HasSubstr("<path"))) << name << ": points are not joined where a line stands";
    EXPECT_EQ(points_drawn(curve(page, std::string(name) + ", predicted")), 17) << name;
  }
  EXPECT_EQ(points_drawn(curve(page, "threads")), 3) << "joined where nothing was predicted";
  for (const char* text :
       {"What was done.", "Flat is alpha.", "bytes of the message", "microseconds", "Memory at stage 3",
        "predicted 1 MiB (-20.0 %)", "<td class=\"number\">5.4 %</td>", "<td class=\"\">ring</td>"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, Not(HasSubstr("<h2>Nothing</h2>"))) << "a chart without a point";
  EXPECT_EQ(console(), "");
}

TEST_F(LabBrowser, IsDrawnInLightAndDarkAndOnAPhone) {
  // 18 and 3 points, two lines and a thin one, two bars of two kinds.
  const auto expect_drawn = [&](const std::string& page, const char* how) {
    EXPECT_THAT(page, HasSubstr("data-wrong=\"\" data-pictures=\"28\""));
    EXPECT_THAT(page, HasSubstr(how));
    EXPECT_EQ(console(), "");
  };
  expect_drawn(dom(example_lab(), look()), "data-dark=\"false\"");
  expect_drawn(dom(example_lab(), look(), kDark), "data-dark=\"true\"");
  expect_drawn(dom_on_phone(example_lab(), look()), "data-dark=\"false\" data-width=\"360\"");
}

TEST_F(LabBrowser, ALogarithmicAxisSetsPowersAtEqualDistances) {
  const std::string page = dom(example_lab(), R"(
    const {x, y} = charts[0], near = (a, b) => Math.abs(a - b) < 0.01;
    document.body.dataset.across = near(x(4096) - x(1024), x(2 ** 26) - x(2 ** 24));
    document.body.dataset.up = near(y(10) - y(100), y(1000) - y(10000)) && y(10) > y(100);
    document.body.dataset.linear = near(charts[1].x(2) - charts[1].x(1), charts[1].x(4) - charts[1].x(3));
    document.body.dataset.ticks = charts[0].labels.map(({node}) => node.textContent);)");
  EXPECT_THAT(page, HasSubstr("data-across=\"true\" data-up=\"true\" data-linear=\"true\""));
  EXPECT_THAT(page, HasSubstr("data-ticks=\"1 KiB,32 KiB,1 MiB,32 MiB\""));
}

TEST_F(LabBrowser, NothingIsWrittenBetweenWholeNumbersOfRanks) {
  LabPage page{"ranks", "", {}, {}};
  page.charts.push_back({"Whole", {"ranks"}, {"y"}, {{"whole", {{1, 1}, {2, 2}}}}});
  page.charts.push_back({"Share", {"share"}, {"y"}, {{"share", {{1, 1}, {1.5, 2}, {2, 3}}}}});
  const std::string drawn = dom(page, R"(
    document.body.dataset.between = charts.map((chart) => chart.labels.some(({node}) => node.textContent.includes('.')));
    document.body.dataset.labels = charts[0].labels.length > 1;)");
  EXPECT_THAT(drawn, HasSubstr("data-between=\"false,true\" data-labels=\"true\""));
}

TEST_F(LabBrowser, ThePointerStopsWhereSomethingWasMeasured) {
  const std::string page = dom(example_lab(), R"(
    const [chart, other] = charts, box = chart.svg.getBoundingClientRect();
    chart.svg.dispatchEvent(new PointerEvent('pointermove',
      {clientX: box.left + chart.x(1 << 17) * box.width / chart.width + 3, clientY: box.top + 20}));
    document.body.dataset.at = chart.cursor.textContent;
    document.body.dataset.read = chart.values.map((value) => value.textContent);
    document.body.dataset.other = other.cursor.textContent;)");
  EXPECT_THAT(page, HasSubstr("data-at=\"256 KiB\" data-read=\"101.3,95.54,109.5,112.9\" data-other=\"\""));
}

TEST_F(LabBrowser, FewAndOddPointsAreDrawnToo) {
  LabPage page{"few", "", {}, {}};
  page.charts.push_back({"One", {"x", true, true}, {"y", true}, {{"one", {{4096, 3}}}}});
  page.charts.push_back({"Below", {"x"}, {"y"}, {{"below", {{1, -2}, {2, 4}}}}});
  page.charts.push_back({"Nowhere", {"x", true}, {"y"}, {{"nowhere", {{0, 1}, {-1, 2}}}}});
  page.charts.push_back({"Zero", {"x"}, {"y"}, {{"zero", {{1, 0}, {2, 0}}}}});
  const std::string text = dom(page, look() + R"(
    document.body.dataset.below = charts[1].y(-2) < charts[1].area.bottom;)");
  EXPECT_THAT(text, HasSubstr("data-wrong=\"\""));
  EXPECT_THAT(text, HasSubstr("data-below=\"true\""));
  EXPECT_THAT(curve(text, "one"), HasSubstr("data-points=\"1\""));
  EXPECT_THAT(curve(text, "zero"), HasSubstr("data-points=\"2\""));
  EXPECT_THAT(text, Not(HasSubstr("Nowhere"))) << "no point is above 0 on its logarithmic axis";
  EXPECT_THAT(text, Not(HasSubstr("NaN")));
  EXPECT_EQ(console(), "");
}

TEST_F(LabBrowser, TextOfAnyKindStaysText) {
  const std::string hostile = "</script><script>document.body.dataset.owned = 1</script><img src=x>";
  LabPage page{hostile, hostile, {hostile}, {{hostile, {hostile}, {hostile}, {{hostile, {{1, 1}}}}, hostile}}};
  page.bars = {{hostile, {{hostile, 1, 1}}}};
  page.tables = {{hostile, {hostile}, {{hostile}}}};
  const std::string text = dom(page);
  EXPECT_THAT(text, Not(HasSubstr("data-owned")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_EQ(console(), "");
}

}  // namespace lockstep
