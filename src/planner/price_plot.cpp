#include "planner/price_plot.h"

#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace lockstep {

namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 520;
constexpr double kLeft = 74;
constexpr double kRight = 660;
constexpr double kTop = 52;
constexpr double kBottom = 460;

struct Style {
  const char* colour;  ///< of the same darkness in print as their neighbours are not
  const char* dashes;
  const char* mark;  ///< a path around (0, 0)
};
constexpr std::array<Style, 8> kStyles{{{"#0072b2", "", "M-4-4h8v8h-8z"},
                                        {"#d55e00", "7 3", "M0-5l5 9h-10z"},
                                        {"#009e73", "2 3", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"},
                                        {"#7b2d8b", "9 3 2 3", "M0-5l5 5l-5 5l-5-5z"},
                                        {"#333333", "", "M0 5l5-9h-10z"},
                                        {"#b8860b", "12 4", "M-4-4l8 8m0-8l-8 8"},
                                        {"#56b4e9", "5 2 1 2 1 2", "M-5 0h10m-5-5v10"},
                                        {"#a01040", "3 2", "M-4-2h8v4h-8z"}}};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else {
      result += c;
    }
  }
  return result;
}

/// Logarithmic axes over what there is to draw.
class Paper {
 public:
  explicit Paper(const Sweep& sweep) : first_(sweep.points.front()), last_(sweep.points.back()) {
    for (const Sweep::Curve& curve : sweep.curves) {
      for (const auto& seconds : curve.seconds) {
        if (!seconds || *seconds <= 0) continue;
        least_ = is_empty_ ? *seconds : std::min(least_, *seconds);
        most_ = is_empty_ ? *seconds : std::max(most_, *seconds);
        is_empty_ = false;
      }
    }
    lowest_decade_ = static_cast<int>(std::floor(std::log10(least_) + 1e-9));
    highest_decade_ = std::max(lowest_decade_ + 1, static_cast<int>(std::ceil(std::log10(most_) - 1e-9)));
  }

  bool is_empty() const { return is_empty_; }
  int lowest_decade() const { return lowest_decade_; }
  int highest_decade() const { return highest_decade_; }
  double x(double point) const {
    const double range = std::log(last_ / first_);
    return range > 0 ? kLeft + (kRight - kLeft) * std::log(point / first_) / range : (kLeft + kRight) / 2;
  }
  double y(double seconds) const {
    return kBottom - (kBottom - kTop) * (std::log10(seconds) - lowest_decade_) / (highest_decade_ - lowest_decade_);
  }

 private:
  double first_;
  double last_;
  double least_ = 1;
  double most_ = 1;
  bool is_empty_ = true;
  int lowest_decade_ = 0;
  int highest_decade_ = 1;
};

std::string axes(const Sweep& sweep, const Paper& paper) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (int decade = paper.lowest_decade(); decade <= paper.highest_decade(); ++decade) {
    const double seconds = std::pow(10.0, decade);
    fmt::format_to(out, R"(<path class="grid" d="M{} {:.1f}H{}"/><text x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
                   kLeft, paper.y(seconds), kRight, kLeft - 8, paper.y(seconds) + 4, format_seconds(seconds));
    text += '\n';
  }
  const std::size_t every = (sweep.points.size() + 7) / 8;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    // The last point may stand next to the one before; it matters more.
    const bool is_last = i + 1 == sweep.points.size();
    if (!is_last && (i % every != 0 || paper.x(sweep.points.back()) - paper.x(sweep.points[i]) < 40)) continue;
    const auto point = static_cast<std::uint64_t>(sweep.points[i]);
    fmt::format_to(out,
                   R"(<path class="grid" d="M{:.1f} {}V{}"/><text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                   paper.x(sweep.points[i]), kTop, kBottom, paper.x(sweep.points[i]), kBottom + 18,
                   sweep.axis == Sweep::Axis::kBytes ? format_bytes(point) : format_count(point));
    text += '\n';
  }
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (kLeft + kRight) / 2, kBottom + 42,
                 sweep.axis == Sweep::Axis::kBytes ? "bytes" : "ranks");
  return text;
}

std::string curve_path(const Sweep& sweep, const Sweep::Curve& curve, const Paper& paper, const Style& style,
                       std::size_t offset) {
  std::string path;
  std::string marks;
  bool is_open = false;
  const std::size_t every = std::max<std::size_t>(1, sweep.points.size() / 6);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (!curve.seconds[i] || *curve.seconds[i] <= 0) {
      is_open = false;
      continue;
    }
    const double x = paper.x(sweep.points[i]);
    const double y = paper.y(*curve.seconds[i]);
    path += fmt::format("{}{:.1f} {:.1f}", is_open ? "L" : "M", x, y);
    is_open = true;
    if (i % every == offset % every) {
      marks +=
          fmt::format(R"svg(<path class="mark" transform="translate({:.1f} {:.1f})" d="{}" stroke="{}" fill="{}"/>)svg",
                      x, y, style.mark, style.colour, style.colour);
    }
  }
  return fmt::format(R"(<path class="curve" d="{}" stroke="{}" stroke-dasharray="{}"/>{})", path, style.colour,
                     style.dashes, marks) +
         "\n";
}

struct Label {
  std::size_t curve;
  double y;       ///< where the line ends
  double text_y;  ///< where its name stands
  double x;
};

/// Names stand beside the ends of their lines, as near as they can without covering each other.
std::vector<Label> placed_labels(const Sweep& sweep, const Paper& paper) {
  std::vector<Label> labels;
  for (std::size_t c = 0; c < sweep.curves.size(); ++c) {
    const auto& seconds = sweep.curves[c].seconds;
    for (std::size_t i = seconds.size(); i-- > 0;) {
      if (!seconds[i] || *seconds[i] <= 0) continue;
      labels.push_back({c, paper.y(*seconds[i]), paper.y(*seconds[i]), paper.x(sweep.points[i])});
      break;
    }
  }
  std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
  constexpr double kLine = 17;
  for (std::size_t i = 1; i < labels.size(); ++i) {
    labels[i].text_y = std::max(labels[i].text_y, labels[i - 1].text_y + kLine);
  }
  double lowest = kBottom;
  for (std::size_t i = labels.size(); i-- > 0;) {
    labels[i].text_y = std::min(labels[i].text_y, lowest);
    lowest = labels[i].text_y - kLine;
  }
  return labels;
}

}  // namespace

std::string price_plot(const Sweep& sweep, const std::string& title) {
  std::string text = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">
<style>text{{font:13px sans-serif;fill:#222}}.title{{font-weight:600;font-size:15px}}.grid{{stroke:#ddd;fill:none}}.curve{{fill:none;stroke-width:2}}.mark{{stroke-width:1.5}}.lead{{stroke:#999;fill:none}}</style>
<rect width="{0}" height="{1}" fill="#fff"/>
<text class="title" x="{3}" y="28">{2}</text>
)",
      kWidth, kHeight, escaped(title), kLeft);
  const Paper paper(sweep);
  if (paper.is_empty()) return text + "<text x=\"74\" y=\"80\">There is no price to draw.</text>\n</svg>\n";
  text += axes(sweep, paper);
  for (std::size_t c = 0; c < sweep.curves.size(); ++c) {
    text += curve_path(sweep, sweep.curves[c], paper, kStyles[c % kStyles.size()], c);
  }
  constexpr double kNames = kRight + 40;
  for (const Label& label : placed_labels(sweep, paper)) {
    const Style& style = kStyles[label.curve % kStyles.size()];
    text += fmt::format(
        R"svg(<path class="lead" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/><path class="mark" transform="translate({:.1f} {:.1f})" d="{}" stroke="{}" fill="{}"/><text x="{:.1f}" y="{:.1f}">{}</text>)svg",
        label.x + 3, label.y, kNames - 8, label.text_y, kNames, label.text_y, style.mark, style.colour, style.colour,
        kNames + 10, label.text_y + 4, escaped(sweep.curves[label.curve].algorithm));
    text += '\n';
  }
  return text + "</svg>\n";
}

}  // namespace lockstep
