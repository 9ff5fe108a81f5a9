#pragma once

// What a page looks like to a browser: headless Chromium draws it. Skipped where there is no Chromium.
#include "base/atomic_file.h"
#include "report/html.h"
#include "report/lab_page.h"
#include "tests/processes/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

namespace lockstep {

inline std::string chromium() {
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

  void write(const ReportPage& page) const { write_report(page, folder_ / "report.html"); }
  void write(const LabPage& page) const { write_lab_page(page, folder_ / "report.html"); }
  // With a script that runs after the page's own.
  template <class Page>
  void write(const Page& page, const std::string& script) const {
    write(page);
    std::string text = read_file(folder_ / "report.html");
    text.insert(text.rfind("</body>"), "<script>{" + script + "}</script>");
    write_file_atomically(folder_ / "report.html", text);
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
  template <class Page>
  std::string dom(const Page& page, const std::string& script = "", const std::string& arguments = "") const {
    write(page, script);
    browse("--dump-dom " + arguments);
    const std::string dumped = read_file(folder_ / "stdout");
    const std::size_t begin = dumped.find("<body");
    return begin == std::string::npos ? "" : dumped.substr(begin, dumped.find("</main>") - begin);
  }

  // The same on a phone: in a frame, since no window is narrower than 500 px. Of the page only what the script left in
  // the body's data comes back.
  template <class Page>
  std::string dom_on_phone(const Page& page, const std::string& script) const {
    write(page, script);
    std::filesystem::rename(folder_ / "report.html", folder_ / "framed.html");
    write_file_atomically(folder_ / "report.html",
                          R"(<body><iframe src="framed.html" style="width: 360px; height: 800px; border: 0"></iframe>
      <script>onload = () => Object.assign(document.body.dataset, frames[0].document.body.dataset);</script></body>)");
    browse("--dump-dom --allow-file-access-from-files");
    return read_file(folder_ / "stdout");
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
inline std::string curve(const std::string& dom, const std::string& name) {
  const std::size_t at = dom.find("data-name=\"" + name + "\"");
  return at == std::string::npos ? "" : dom.substr(at, dom.find("</g>", at) - at);
}

inline std::ptrdiff_t points_drawn(const std::string& group) {
  const std::size_t begin = group.find(" d=\"") + 4;
  const std::string path = group.substr(begin, group.find('"', begin) - begin);
  return std::count(path.begin(), path.end(), 'L') + std::count(path.begin(), path.end(), 'M');
}

// A script: for every picture on the page, that it has a size and another colour than its card, and that nothing is
// wider than the window. What is wrong stands in data-wrong, the number of pictures in data-pictures.
inline std::string look() {
  return R"(
    const wrong = [], card = getComputedStyle(document.querySelector('.card')).backgroundColor;
    const pictures = [...document.querySelectorAll('.series path, .series circle, rect.span, .bars .bar')];
    for (const picture of pictures) {
      const style = getComputedStyle(picture), box = picture.getBoundingClientRect(), isBar = picture.matches('.bar');
      const colour = isBar ? style.backgroundColor : style.fill === 'none' || picture.matches('.dot') ? style.stroke
                                                                                                      : style.fill;
      const name = picture.getAttribute('data-span') ?? picture.parentNode.getAttribute('data-name') ?? picture.className;
      if (!(box.width > 0 || box.height > 0)) wrong.push(`${name} is empty`);
      if (box.right > innerWidth) wrong.push(`${name} is cut off at ${box.right} of ${innerWidth}`);
      if (colour === card || colour === 'rgb(0, 0, 0)' || colour === 'none') wrong.push(`${name} is ${colour}`);
    }
    for (const text of document.querySelectorAll('svg text')) {
      const box = text.getBoundingClientRect(), svg = text.closest('svg').getBoundingClientRect();
      if (box.right > svg.right + 1 || box.left < svg.left - 1) wrong.push(`"${text.textContent}" is cut off`);
    }
    if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page scrolls sideways');
    Object.assign(document.body.dataset, {wrong: wrong.join('; '), pictures: pictures.length,
      dark: matchMedia('(prefers-color-scheme: dark)').matches, width: innerWidth, ground: card});)";
}

inline constexpr const char* kDark = "--blink-settings=preferredColorScheme=0";

}  // namespace lockstep
