#include "report/browser_for_tests.h"
#include "report/html_example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace lockstep {

using testing::HasSubstr;
using testing::Not;

TEST_F(Browser, DrawsACurveOfEachKindWithAllItsPoints) {
  const std::string page = dom(example_report(400));
  for (const char* name : {"training", "tokens/s", "before clipping", "rate"}) {
    EXPECT_THAT(curve(page, name), HasSubstr("data-points=\"400\"")) << name;
    EXPECT_EQ(points_drawn(curve(page, name)), 400) << name;
  }
  EXPECT_EQ(points_drawn(curve(page, "validation")), 8);
  for (const char* name : {"compute", "exposed"}) {
    EXPECT_EQ(points_drawn(curve(page, name)), 800) << name << ": a region has an upper and a lower side";
  }
  EXPECT_EQ(console(), "");
}

TEST_F(Browser, ShowsTilesBucketsSettingsSampleAndTrace) {
  const std::string page = dom(example_report(400));
  for (const char* text :
       {"<h1>text: GPT, 4 layers</h1>", "lockstep train text -n 2", "<dd>10.0 %</dd>", "head.weight, head.bias",
        "ROMEO:\nWhat say you?", "runs/trace.json", "<dt>width</dt><dd>128</dd>"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST_F(Browser, DrawsEveryPictureInLightAndDarkAndOnAPhone) {
  const ReportPage full = full_report(400);
  const std::string light = dom(full, look());
  EXPECT_THAT(light, HasSubstr("data-dark=\"false\""));
  EXPECT_THAT(light, HasSubstr("data-wrong=\"\""));
  for (const char* title : {"Loss", "Accuracy", "Iteration time", "Throughput", "Gradient norm", "Learning rate",
                            "One iteration, all ranks", "Memory of a rank", "Buckets"}) {
    EXPECT_THAT(light, HasSubstr(std::string("<h2>") + title + "</h2>"));
  }
  EXPECT_THAT(light, HasSubstr("<th class=\"\">phase</th>"));
  // 15 curves (some drawn raw and smooth) and regions, 16 dots; 28 spans; two bars of four kinds.
  const std::string pictures = fmt::format("data-pictures=\"{}\"", 15 + 16 + 28 + 8);
  EXPECT_THAT(light, HasSubstr(pictures));
  const std::string dark = dom(full, look(), kDark);
  EXPECT_THAT(dark, HasSubstr("data-dark=\"true\""));
  EXPECT_THAT(dark, HasSubstr("data-wrong=\"\""));
  EXPECT_THAT(dark, HasSubstr(pictures));
  const std::string phone = dom_on_phone(full, look());
  EXPECT_THAT(phone, HasSubstr("data-width=\"360\""));
  EXPECT_THAT(phone, HasSubstr("data-wrong=\"\""));
  EXPECT_THAT(phone, HasSubstr(pictures));
  EXPECT_EQ(console(), "");
}

TEST_F(Browser, HiddenCommunicationLiesUnderComputeAndAddsNothingToTheHeight) {
  const std::string page = dom(full_report(400), R"(
    const height = (name) => document.querySelector(`[data-name="${name}"]`).getBoundingClientRect();
    const compute = height('compute'), hidden = height('hidden in compute'), exposed = height('exposed');
    const near = (a, b) => Math.abs(a - b) < 1.5;
    Object.assign(document.body.dataset, {
      inside: hidden.top >= compute.top - 1.5 && hidden.bottom <= compute.bottom,
      share: near(hidden.height / compute.height * 90, 25), above: near(exposed.bottom, compute.top),
      waits: near(height('data wait').bottom, exposed.top)});)");
  EXPECT_THAT(page, HasSubstr("data-inside=\"true\" data-share=\"true\" data-above=\"true\" data-waits=\"true\""));
}

TEST_F(Browser, CommunicationIsReadAsWhatIsHiddenAndWhatIsExposedTogether) {
  const std::string page = dom(full_report(400), R"(
    const time = charts.find(({title}) => title === 'Iteration time');
    document.body.dataset.read = time.series.map(({name}, i) => `${name} ${time.values[i].textContent}`).join(', ');)");
  EXPECT_THAT(page, HasSubstr("data-read=\"compute 9 ms, hidden in compute 2.5 ms, exposed 1 ms, data wait 0.75 ms, "
                              "communication 3.5 ms\""));
}

TEST_F(Browser, WhatHasNoDataIsNotShown) {
  ReportPage page = example_report(60);
  for (IterationRecord& record : page.iterations) record.gradient_norm = record.learning_rate = 0;
  const std::string shown = dom(page);
  for (const char* title :
       {"Accuracy", "Gradient norm", "Learning rate", "One iteration, all ranks", "Memory of a rank",
        "hidden in compute", "data wait", "predicted", "operation", "phase", "steps"}) {
    EXPECT_THAT(shown, Not(HasSubstr(title)));
  }
  EXPECT_THAT(shown, HasSubstr("<h2>Throughput</h2>"));
}

TEST_F(Browser, TheTimelineIsReadByPointerAndByKeys) {
  const std::string page = dom(full_report(20), R"(
    const {svg} = timeline, read = () => timeline.reading.textContent, press = (key) =>
      svg.dispatchEvent(new KeyboardEvent('keydown', {key}));
    document.querySelector('[data-span="bucket 0"][data-rank="2"]').dispatchEvent(new PointerEvent('pointerenter'));
    document.body.dataset.pointed = read();
    press('ArrowRight');
    document.body.dataset.next = read();
    press('Home');
    document.body.dataset.home = read();)");
  EXPECT_THAT(page, HasSubstr("data-pointed=\"rank 2, bucket 0: 3.8 ms, from 6.1 ms to 9.9 ms\""));
  EXPECT_THAT(page, HasSubstr("data-next=\"rank 3, data: 0.7 ms, from 0.45 ms to 1.15 ms\""));
  EXPECT_THAT(page, HasSubstr("data-home=\"rank 0, data: 0.7 ms, from 0 ms to 0.7 ms\""));
}

TEST_F(Browser, APointerReadsTheValuesOfAnIteration) {
  const std::string page = dom(example_report(400), R"(
    const {svg, area, width} = charts[0], box = svg.getBoundingClientRect();
    const clientX = box.left + box.width * (area.left + (area.right - area.left) * 99 / 399) / width;
    svg.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY: box.top + 20}));
    document.body.dataset.read = charts.map((chart) => chart.values.map((value) => value.textContent)).join(';');
    document.body.dataset.at = charts[4].cursor.textContent;)");
  EXPECT_THAT(page, HasSubstr("data-at=\"100\"")) << "the line is in the other charts too";
  EXPECT_THAT(page, HasSubstr("data-read=\"2.573,2.823;9 ms,1 ms,1 ms;10.1k;1.01;0.001\""));
  EXPECT_EQ(console(), "");
}

TEST_F(Browser, ADragZoomsIn) {
  const std::string page = dom(example_report(400), R"(
    const {svg, area, width} = charts[0], box = svg.getBoundingClientRect();
    svg.setPointerCapture = () => {};
    const at = (share) => box.left + box.width * (area.left + (area.right - area.left) * share) / width;
    for (const [type, share] of [['pointerdown', 100 / 399], ['pointermove', 200 / 399], ['pointerup', 200 / 399]]) {
      svg.dispatchEvent(new PointerEvent(type, {clientX: at(share), clientY: 20, pointerType: 'mouse', button: 0}));
    }
    document.body.dataset.zoomed = charts[0].group.shown;
    svg.dispatchEvent(new MouseEvent('dblclick'));
    document.body.dataset.back = charts[0].group.shown;)");
  EXPECT_THAT(page, HasSubstr("data-zoomed=\"100,200\""));
  EXPECT_THAT(page, HasSubstr("data-back=\"0,399\""));
  EXPECT_EQ(console(), "");
}

TEST_F(Browser, NothingIsAskedOfTheNetwork) {
  const std::string count = "document.body.dataset.requests = performance.getEntriesByType('resource').length;";
  EXPECT_THAT(dom(example_report(40), count), HasSubstr("data-requests=\"0\""));
  EXPECT_EQ(console(), "");
  // The page's policy would stop and report one:
  dom(example_report(40), "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}));");
  EXPECT_THAT(console(), HasSubstr("Content Security Policy"));
}

TEST_F(Browser, TextOfAnyKindStaysText) {
  const std::string hostile =
      "</script><script>document.body.dataset.owned = 1</script><img src=x onerror=\"document.body.dataset.owned = "
      "1\">";
  ReportPage page = example_report(20);
  page.run.title = page.run.command = page.sample = page.trace_path = hostile;
  page.run.settings = {{hostile, hostile}};
  page.iterations.back().buckets[0].parameters = {hostile, hostile, hostile, hostile, hostile};
  page.iterations.back().buckets[0].algorithm = hostile;
  const std::string text = dom(page);
  EXPECT_THAT(text, Not(HasSubstr("data-owned")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, HasSubstr("<h1>&lt;/script&gt;&lt;script&gt;document"));
  EXPECT_EQ(console(), "");
}

TEST_F(Browser, TrainingsThatCameToNothingAreDrawnToo) {
  EXPECT_THAT(dom(ReportPage{}), HasSubstr("No iteration was recorded."));
  EXPECT_EQ(console(), "");
  EXPECT_EQ(points_drawn(curve(dom(example_report(1)), "training")), 1);
  EXPECT_EQ(console(), "");
  ReportPage page = example_report(120);
  for (std::size_t i = 60; i < 120; ++i) page.iterations[i].loss = std::numeric_limits<double>::quiet_NaN();
  const std::string diverged = dom(page);
  EXPECT_THAT(curve(diverged, "training"), HasSubstr("data-points=\"60\""));
  EXPECT_THAT(diverged, Not(HasSubstr("NaN")));
  EXPECT_EQ(console(), "");
}

TEST_F(Browser, AScreenshotIsNotBlank) {
  const auto size_of_shot = [&] {
    browse("--screenshot='" + (folder_ / "shot.png").string() + "' --window-size=1000,1400");
    const std::string png = read_file(folder_ / "shot.png");
    EXPECT_EQ(png.substr(1, 3), "PNG");
    EXPECT_EQ(png.substr(16, 8), std::string("\0\0\x03\xe8\0\0\x05\x78", 8)) << "1000 by 1400 in its header";
    return png.size();
  };
  write_file_atomically(folder_ / "report.html", "<body style='background: #eee'>");
  const std::size_t blank = size_of_shot();
  write_report(example_report(400), folder_ / "report.html");
  EXPECT_GT(size_of_shot(), 5 * blank);
}

}  // namespace lockstep
