// What a report looks like to a browser: headless Chromium draws it. Skipped where there is no Chromium.
#include "base/atomic_file.h"
#include "report/html_example.h"
#include "tests/processes/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>

namespace lockstep {

using testing::HasSubstr;
using testing::Not;

std::string chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (std::system(fmt::format("command -v {} >/dev/null 2>&1", name).c_str()) == 0) return name;
  }
  return {};
}

class Browser : public testing_support::TemporaryFolder {
 protected:
  ~Browser() override {
    std::error_code busy;  // a helper of the browser may still be writing; the folder itself goes after this
    std::filesystem::remove_all(folder_, busy);
  }
  void SetUp() override {
    if (chromium().empty()) GTEST_SKIP() << "Chromium is not installed (apt-get install chromium).";
  }

  // Loads report.html; all that the browser itself keeps goes into the test's folder.
  void browse(const std::string& arguments) const {
    const std::string command = fmt::format(
        "cd '{0}' && HOME='{0}' TMPDIR='{0}' timeout -k 5 100 {1} --headless --no-sandbox --disable-gpu "
        "--disable-dev-shm-usage --disable-breakpad --disable-background-networking --no-first-run --hide-scrollbars "
        "--user-data-dir='{0}/profile' --enable-logging=stderr {2} 'file://{0}/report.html' "
        ">'{0}/stdout' 2>'{0}/stderr' </dev/null",
        folder_.string(), chromium(), arguments);
    ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder_ / "stderr");
  }

  // What the page shows, as markup, after its script and `script` ran (without the data and the scripts); what the
  // browser complained of is in console().
  std::string dom(const ReportPage& page, const std::string& script = "") const {
    write_report(page, folder_ / "report.html");
    std::string text = read_file(folder_ / "report.html");
    text.insert(text.rfind("</body>"), "<script>{" + script + "}</script>");
    write_file_atomically(folder_ / "report.html", text);
    browse("--dump-dom");
    const std::string dumped = read_file(folder_ / "stdout");
    const std::size_t begin = dumped.find("<body");
    return begin == std::string::npos ? "" : dumped.substr(begin, dumped.find("</main>") - begin);
  }

  // The lines of the browser's log that came from the page: script errors, and requests that its policy forbids.
  std::string console() const {
    std::istringstream log(read_file(folder_ / "stderr"));
    std::string lines;
    for (std::string line; std::getline(log, line);) {
      if (line.find("CONSOLE") != std::string::npos) lines += line + "\n";
    }
    return lines;
  }
};

// The <g> of a curve in a dumped DOM.
std::string curve(const std::string& dom, const std::string& name) {
  const std::size_t at = dom.find("data-name=\"" + name + "\"");
  return at == std::string::npos ? "" : dom.substr(at, dom.find("</g>", at) - at);
}

std::ptrdiff_t points_drawn(const std::string& group) {
  const std::size_t begin = group.find(" d=\"") + 4;
  const std::string path = group.substr(begin, group.find('"', begin) - begin);
  return std::count(path.begin(), path.end(), 'L') + std::count(path.begin(), path.end(), 'M');
}

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

TEST_F(Browser, APointerReadsTheValuesOfAnIteration) {
  const std::string page = dom(example_report(400), R"(
    const {svg, area, width} = charts[0], box = svg.getBoundingClientRect();
    const clientX = box.left + box.width * (area.left + (area.right - area.left) * 99 / 399) / width;
    svg.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY: box.top + 20}));
    document.body.dataset.read = charts.map((chart) => chart.values.map((value) => value.textContent)).join(';');
    document.body.dataset.at = charts[4].cursor.textContent;)");
  EXPECT_THAT(page, HasSubstr("data-at=\"100\"")) << "the line is in the other charts too";
  EXPECT_THAT(page, HasSubstr("data-read=\"2.573,2.823;9 ms,1 ms;10.1k;1.01;0.001\""));
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
    document.body.dataset.zoomed = shown;
    svg.dispatchEvent(new MouseEvent('dblclick'));
    document.body.dataset.back = shown;)");
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
