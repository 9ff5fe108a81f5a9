#include "report/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep {

namespace {

// Dots on a grid of characters: 2 x 4 to a character in braille, one to a character in ASCII.
class Canvas {
 public:
  Canvas(int columns, int rows, bool unicode)
      : columns_(columns),
        across_(unicode ? 2 : 1),
        down_(unicode ? 4 : 1),
        cells_(static_cast<std::size_t>(columns * rows)) {}
  int width() const { return columns_ * across_; }
  int height() const { return static_cast<int>(cells_.size()) / columns_ * down_; }

  void dot(int x, int y) {
    // The bits of a braille character: three rows of its two columns, then the fourth row, which Unicode added later.
    static constexpr unsigned char kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned char& cell = cells_[static_cast<std::size_t>(y / down_ * columns_ + x / across_)];
    cell = static_cast<unsigned char>(cell | kBits[y % down_][x % across_]);
  }

  std::string row(int index) const {
    std::string text;
    for (int i = 0; i < columns_; ++i) {
      const unsigned char bits = cells_[static_cast<std::size_t>(index * columns_ + i)];
      if (bits == 0) {
        text += ' ';
      } else if (down_ == 1) {
        text += '*';
      } else {  // U+2800 and the bits, in UTF-8
        text += {'\xe2', static_cast<char>(0xa0 | bits >> 6), static_cast<char>(0x80 | (bits & 0x3f))};
      }
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  int columns_, across_, down_;
  std::vector<unsigned char> cells_;
};

// One value for each of `count` places, the mean of what falls there; NaN where nothing does.
std::vector<double> resample(const std::vector<double>& values, int count) {
  std::vector<double> sums(static_cast<std::size_t>(count)), counts(sums);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const std::size_t place = values.size() == 1 ? 0 : i * (sums.size() - 1) / (values.size() - 1);
    sums[place] += values[i];
    counts[place] += 1;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
  return sums;
}

// From dot to dot: a column of dots for each step, so that a steep curve has no holes.
void plot(Canvas& canvas, const std::vector<double>& places, double low, double high) {
  int last_x = -1, last_y = 0;
  for (int x = 0; x < canvas.width(); ++x) {
    const double value = places[static_cast<std::size_t>(x)];
    if (std::isnan(value)) continue;
    const double height = high > low ? (value - low) / (high - low) : 0.5;
    const int y = static_cast<int>(std::lround((1 - height) * (canvas.height() - 1)));
    const auto on_the_way = [&](int at) {
      return last_x < 0 ? y : last_y + static_cast<int>(std::lround((y - last_y) * (at - last_x) / double(x - last_x)));
    };
    for (int at = last_x < 0 ? x : last_x + 1; at <= x; ++at) {
      const int to = on_the_way(at), before = on_the_way(at - 1);
      // The row before is the neighbour's: dots that touch by their corners are a line already.
      const int from = before + (to > before) - (to < before);
      for (int dot = std::min(from, to); dot <= std::max(from, to); ++dot) canvas.dot(at, dot);
    }
    last_x = x;
    last_y = y;
  }
}

}  // namespace

std::string draw_curve(const std::vector<double>& values, int columns, int rows, CurveStyle style) {
  constexpr int kLabel = 8, kFewest = 8;  // columns: of a label with its space, and of the curve
  rows = std::max(rows, 2);
  const int width = std::max(columns - kLabel - 1, kFewest);
  Canvas canvas(width, rows, style.unicode);
  const std::vector<double> places = resample(values, canvas.width());
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : places) {
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {};
  plot(canvas, places, low, high);
  std::string text;
  for (int i = 0; i < rows; ++i) {
    const std::string label = i == 0 ? fmt::format("{:.4g}", high) : i == rows - 1 ? fmt::format("{:.4g}", low) : "";
    text += fmt::format("{:>7} {}{}\n", label, style.unicode ? "│" : "|", canvas.row(i));
  }
  std::string axis;
  for (int i = 0; i < width; ++i) axis += style.unicode ? "─" : "-";
  text += fmt::format("{:8}{}{}\n", "", style.unicode ? "└" : "+", axis);
  const std::string first = fmt::format("{}", style.first);
  const auto one_each = style.first + static_cast<std::int64_t>(values.size()) - 1;
  const std::string last = fmt::format("{}", style.last > 0 ? style.last : one_each);
  text += fmt::format("{:9}{}{:>{}}\n", "", first, last, std::max(width - static_cast<int>(first.size()), 0));
  return text;
}

}  // namespace lockstep
