#include "bench/comparison/plot.h"

#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

namespace lockstep::compare {

namespace {

constexpr double kWidth = 730;
constexpr double kHeight = 440;
constexpr double kLeft = 80;
constexpr double kRight = 30;
constexpr double kTop = 72;
constexpr double kBottom = 52;

/// Colours that people with any sight tell apart (Okabe and Ito), and a dash each for print without colour.
struct Look {
  const char* colour;
  const char* dash;
};
constexpr std::array<Look, 4> kLooks{{{"#0072b2", ""}, {"#56b4e9", "6 3"}, {"#d55e00", "2 3"}, {"#777777", "9 3 2 3"}}};

/// From values to places on the page, logarithmic.
struct Axis {
  double low;
  double high;
  double from;
  double to;
  double operator()(double value) const {
    return from + (to - from) * (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  }
};

struct Line {
  std::string subject;
  std::vector<const Cell*> cells;
};

std::vector<Line> lines_of(const SectionResult& result) {
  std::vector<Line> lines;
  for (const Cell& cell : result.cells) {
    if (cell.median_us <= 0) continue;
    auto found =
        std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.subject == cell.subject; });
    if (found == lines.end()) found = lines.insert(lines.end(), {cell.subject, {}});
    found->cells.push_back(&cell);
  }
  return lines;
}

std::string time_label(double us) {
  if (us >= 1e6) return fmt::format("{:g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:g} ms", us / 1e3);
  return fmt::format("{:g} us", us);
}

void draw_grid(std::string& svg, const SectionResult& result, const Axis& x, const Axis& y) {
  const auto out = std::back_inserter(svg);
  for (double us = y.low; us <= y.high * 1.001; us *= 10) {
    fmt::format_to(out, "<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' stroke='#ddd'/>\n", kLeft, kWidth - kRight,
                   y(us));
    fmt::format_to(out, "<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>\n", kLeft - 8, y(us) + 4, time_label(us));
  }
  std::vector<std::size_t> sizes;
  for (const Cell& cell : result.cells) sizes.push_back(cell.bytes);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  double last = 0;
  for (const std::size_t bytes : sizes) {
    const double at = x(static_cast<double>(bytes));
    fmt::format_to(out, "<line x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}' stroke='#eee'/>\n", at, kTop,
                   kHeight - kBottom);
    if (at - last < 44) continue;  // no room for its label
    fmt::format_to(out, "<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n", at, kHeight - kBottom + 18,
                   format_bytes(bytes));
    last = at;
  }
}

void draw_line(std::string& svg, const Line& line, const Look& look, const Axis& x, const Axis& y) {
  const auto out = std::back_inserter(svg);
  std::string points;
  for (const Cell* cell : line.cells) {
    points += fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(cell->bytes)), y(cell->median_us));
  }
  fmt::format_to(out, "<polyline points='{}' fill='none' stroke='{}' stroke-width='2' stroke-dasharray='{}'/>\n",
                 points, look.colour, look.dash);
  for (const Cell* cell : line.cells) {
    fmt::format_to(out, "<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'><title>{}, {}: {:.4g} us</title></circle>\n",
                   x(static_cast<double>(cell->bytes)), y(cell->median_us), look.colour, line.subject,
                   format_bytes(cell->bytes), cell->median_us);
  }
}

void draw_legend(std::string& svg, const std::vector<Line>& lines) {
  const auto out = std::back_inserter(svg);
  double at = kLeft;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Look& look = kLooks[i % kLooks.size()];
    fmt::format_to(out,
                   "<line x1='{}' x2='{}' y1='50' y2='50' stroke='{}' stroke-width='2' stroke-dasharray='{}'/>\n"
                   "<text x='{}' y='54'>{}</text>\n",
                   at, at + 28, look.colour, look.dash, at + 34, lines[i].subject);
    at += 52 + 7 * static_cast<double>(lines[i].subject.size());
  }
}

}  // namespace

std::string plot(const SectionResult& result, const std::string& title) {
  const std::vector<Line> lines = lines_of(result);
  double fastest = 1e12;
  double slowest = 0;
  double smallest = 1e18;
  double largest = 0;
  for (const Line& line : lines) {
    for (const Cell* cell : line.cells) {
      fastest = std::min(fastest, cell->median_us);
      slowest = std::max(slowest, cell->median_us);
      smallest = std::min(smallest, static_cast<double>(cell->bytes));
      largest = std::max(largest, static_cast<double>(cell->bytes));
    }
  }
  const Axis x{smallest, std::max(largest, smallest * 2), kLeft, kWidth - kRight};
  const Axis y{std::pow(10, std::floor(std::log10(fastest))), std::pow(10, std::ceil(std::log10(slowest * 1.001))),
               kHeight - kBottom, kTop};
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' font-family='sans-serif' font-size='12' "
      "fill='#222'>\n"
      "<rect width='{0}' height='{1}' fill='white'/>\n"
      "<text x='{2}' y='26' font-size='16'>{3}: all-reduce of float32, in place</text>\n"
      "<text x='{4}' y='{5}' text-anchor='middle'>bytes on each rank; lower is better</text>\n",
      kWidth, kHeight, kLeft, title, (kLeft + kWidth - kRight) / 2, kHeight - 12);
  draw_grid(svg, result, x, y);
  for (std::size_t i = 0; i < lines.size(); ++i) draw_line(svg, lines[i], kLooks[i % kLooks.size()], x, y);
  draw_legend(svg, lines);
  return svg + "</svg>\n";
}

}  // namespace lockstep::compare
