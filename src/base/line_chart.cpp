#include "base/line_chart.h"

#include "base/folded.h"
#include "base/svg.h"
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace lockstep::svg {

namespace {

constexpr double kWidth = 860;  ///< at least
constexpr double kHeight = 520;
constexpr double kLeft = 74;
constexpr double kRight = 660;          ///< of the lines; their names stand beyond
constexpr double kNames = kRight + 40;  ///< of their marks
constexpr double kTop = 52;
constexpr double kBottom = 460;

constexpr std::string_view kStyleSheet =
    "text{font:13px sans-serif;fill:#222}.title{font-weight:600;font-size:15px}.grid{stroke:#ddd;fill:none}"
    ".line{fill:none;stroke-width:2}.mark{stroke-width:1.5}.lead{stroke:#999;fill:none}"
    ".circle{stroke:#222;fill:none;pointer-events:all}\n";

/// What tells lines apart without their colours.
struct Look {
  const char* dashes;
  const char* mark;  ///< a path around (0, 0)
};
constexpr std::size_t kLookCount = kLineColours.size();
constexpr std::array<Look, kLookCount> kLooks{{{"", "M-4-4h8v8h-8z"},
                                               {"7 3", "M0-5l5 9h-10z"},
                                               {"2 3", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"},
                                               {"9 3 2 3", "M0-5l5 5l-5 5l-5-5z"},
                                               {"", "M0 5l5-9h-10z"},
                                               {"12 4", "M-4-4l8 8m0-8l-8 8"},
                                               {"5 2 1 2 1 2", "M-5 0h10m-5-5v10"},
                                               {"3 2", "M-4-2h8v4h-8z"}}};

/// "10 us": a power of ten without the digits that it has not.
std::string decade_text(int decade) {
  constexpr std::array<const char*, 4> kUnits{"ns", "us", "ms", "s"};
  const int unit = std::clamp((decade + 9) / 3, 0, 3);
  return fmt::format("{:g} {}", std::pow(10.0, decade + 9 - 3 * unit), kUnits[static_cast<std::size_t>(unit)]);
}

/// A chart being drawn: where values lie on the page, and the elements so far.
class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) {
    double least = 0;
    double most = 0;
    for (const LineChart::Line& line : chart.lines) {
      for (std::size_t i = 0; i < line.seconds.size(); ++i) {
        if (!has(line, i)) continue;
        least = least == 0 ? *line.seconds[i] : std::min(least, *line.seconds[i]);
        most = std::max(most, *line.seconds[i]);
      }
    }
    if (most == 0) return;
    lowest_decade_ = static_cast<int>(std::floor(std::log10(least) + 1e-9));
    highest_decade_ = std::max(lowest_decade_ + 1, static_cast<int>(std::ceil(std::log10(most) - 1e-9)));
    add_grid();
    add_circles();  // before the marks, which say their values where both lie
    for (std::size_t i = 0; i < chart.lines.size(); ++i) add_line(i);
    add_names();
  }

  const std::string& body() const { return body_; }

 private:
  struct Name {
    std::size_t line;
    double x;  ///< where the line ends
    double y;
    double text_y;  ///< where its name stands
  };

  static bool has(const LineChart::Line& line, std::size_t i) { return line.seconds[i] && *line.seconds[i] > 0; }

  double x(std::size_t i) const { return x_of(chart_.x[i]); }
  double x_of(double value) const {
    const double range = std::log(chart_.x.back() / chart_.x.front());
    return range > 0 ? kLeft + (kRight - kLeft) * std::log(value / chart_.x.front()) / range : (kLeft + kRight) / 2;
  }
  double y(double seconds) const {
    return kBottom - (kBottom - kTop) * (std::log10(seconds) - lowest_decade_) / (highest_decade_ - lowest_decade_);
  }

  template <class... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(body_), form, std::forward<Values>(values)...);
    body_ += '\n';
  }

  void add_grid() {
    for (int decade = lowest_decade_; decade <= highest_decade_; ++decade) {
      const double at = y(std::pow(10.0, decade));
      add(R"(<path class="grid" d="M{} {}H{}"/><text x="{}" y="{}" text-anchor="end">{}</text>)", kLeft, number(at),
          kRight, kLeft - 8, number(at + 4), decade_text(decade));
    }
    constexpr double kRoom = 62;  // for a label
    double next = 0;
    for (std::size_t i = 0; i < chart_.x.size(); ++i) {
      // The last value may stand next to the one before; it matters more.
      const bool is_last = i + 1 == chart_.x.size();
      if (!is_last && (x(i) < next || kRight - x(i) < kRoom)) continue;
      next = x(i) + kRoom;
      add(R"(<path class="grid" d="M{0} {1}V{2}"/><text x="{0}" y="{3}" text-anchor="middle">{4}</text>)", number(x(i)),
          kTop, kBottom, kBottom + 18, escaped(chart_.x_text(chart_.x[i])));
    }
    add(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)", (kLeft + kRight) / 2, kBottom + 42,
        escaped(chart_.x_title));
  }

  void add_circles() {
    for (const LineChart::Circle& circle : chart_.circles) {
      add(R"(<circle class="circle" cx="{}" cy="{}" r="6"><title>{}</title></circle>)", number(x_of(circle.x)),
          number(y(circle.seconds)), escaped(circle.words));
    }
  }

  void add_line(std::size_t index) {
    const LineChart::Line& line = chart_.lines[index];
    std::string path;
    bool is_open = false;
    for (std::size_t i = 0; i < line.seconds.size(); ++i) {
      if (chart_.last_stands_alone && i + 1 == line.seconds.size()) is_open = false;
      if (has(line, i)) path += (is_open ? "L" : "M") + number(x(i)) + " " + number(y(*line.seconds[i]));
      is_open = has(line, i);
    }
    add(R"(<path class="line" d="{}" stroke="{}" stroke-dasharray="{}"/>)", path, colour(index), look(index).dashes);
    // Where points stand close, lines that run together have their marks at different ones.
    constexpr std::size_t kMostMarked = 16;
    const std::size_t every = line.seconds.size() <= kMostMarked ? 1 : line.seconds.size() / 6;
    for (std::size_t i = index % every; i < line.seconds.size(); i += every) {
      if (!has(line, i)) continue;
      const std::string point =
          fmt::format("{}, {}: {}", line.name, chart_.x_text(chart_.x[i]), format_seconds(*line.seconds[i]));
      add_mark(index, x(i), y(*line.seconds[i]), point);
    }
  }

  /// Names stand beside the ends of their lines, as near as they can without covering each other.
  std::vector<Name> placed_names() const {
    std::vector<Name> names;
    for (std::size_t index = 0; index < chart_.lines.size(); ++index) {
      const LineChart::Line& line = chart_.lines[index];
      for (std::size_t i = line.seconds.size(); i-- > 0;) {
        if (!has(line, i)) continue;
        names.push_back({index, x(i), y(*line.seconds[i]), y(*line.seconds[i])});
        break;
      }
    }
    std::stable_sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.y < b.y; });
    constexpr double kLineHeight = 17;
    for (std::size_t i = 1; i < names.size(); ++i) {
      names[i].text_y = std::max(names[i].text_y, names[i - 1].text_y + kLineHeight);
    }
    double lowest = kBottom;
    for (std::size_t i = names.size(); i-- > 0;) {
      names[i].text_y = std::min(names[i].text_y, lowest);
      lowest = names[i].text_y - kLineHeight;
    }
    return names;
  }

  void add_names() {
    for (const Name& name : placed_names()) {
      add(R"(<path class="lead" d="M{} {}L{} {}"/>)", number(name.x + 3), number(name.y), kNames - 8,
          number(name.text_y));
      add_mark(name.line, kNames, name.text_y, chart_.lines[name.line].name);
      add(R"(<text x="{}" y="{}">{}</text>)", kNames + 10, number(name.text_y + 4),
          escaped(chart_.lines[name.line].name));
    }
  }

  /// A viewer says `words` where the pointer rests on the mark.
  void add_mark(std::size_t index, double x, double y, std::string_view words) {
    add(R"svg(<path class="mark" transform="translate({0} {1})" d="{2}" stroke="{3}" fill="{3}"><title>{4}</title></path>)svg",
        number(x), number(y), look(index).mark, colour(index), escaped(words));
  }

  static const Look& look(std::size_t index) { return kLooks[index % kLookCount]; }
  /// Where looks come round again, they do with other colours.
  static std::string_view colour(std::size_t index) { return kLineColours[(index + index / kLookCount) % kLookCount]; }

  const LineChart& chart_;
  int lowest_decade_ = 0;
  int highest_decade_ = 1;
  std::string body_;
};

/// Whole names are on the page.
double width_of(const LineChart& chart) {
  constexpr double kLetter = 7.5;  // wider than letters are in the mean
  std::size_t longest = 0;
  for (const LineChart::Line& line : chart.lines) longest = std::max(longest, line.name.size());
  return std::max(kWidth, kNames + 10 + kLetter * static_cast<double>(longest));
}

/// Words in lines that are not wider than the page.
std::vector<std::string> lines_of(const std::vector<std::string>& notes, double width) {
  constexpr double kLetter = 7;
  std::vector<std::string> lines;
  for (const std::string& note : notes) {
    for (std::string& line : folded(note, static_cast<std::size_t>(width / kLetter))) lines.push_back(std::move(line));
  }
  return lines;
}

std::string description_of(const LineChart& chart) {
  std::string text = "Time over " + chart.x_title + ", both axes logarithmic. Lines:";
  for (const LineChart::Line& line : chart.lines) text += " " + line.name + ";";
  text.back() = '.';
  return text;
}

}  // namespace

std::string to_text(const LineChart& chart) {
  const std::string title =
      fmt::format("<text class=\"title\" x=\"{}\" y=\"28\">{}</text>\n", kLeft, escaped(chart.title));
  const std::string nothing = fmt::format("<text x=\"{}\" y=\"80\">{}</text>\n", kLeft, escaped(chart.nothing));
  const Drawing drawing(chart);
  constexpr double kLineHeight = 18;
  double height = kHeight;
  std::string notes;
  for (const std::string& line : lines_of(chart.notes, width_of(chart) - kLeft)) {
    notes += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kLeft, number(height), escaped(line));
    height += kLineHeight;
  }
  return to_text({.width = width_of(chart),
                  .height = height,
                  .title = chart.title,
                  .description = description_of(chart),
                  .style = kStyleSheet,
                  .body = title + (drawing.body().empty() ? nothing : drawing.body()) + notes});
}

}  // namespace lockstep::svg
