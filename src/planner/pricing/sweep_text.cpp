#include "planner/pricing/sweep_text.h"

#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {

namespace {

/// Words and those of whom they hold, in the order in which they came up.
using Said = std::vector<std::pair<std::string, std::vector<std::string>>>;

void say(Said& said, const std::string& words, const std::string& algorithm) {
  const auto place = std::find_if(said.begin(), said.end(), [&](const auto& one) { return one.first == words; });
  if (place != said.end()) {
    place->second.push_back(algorithm);
  } else {
    said.push_back({words, {algorithm}});
  }
}

std::string curves_note(const Sweep& sweep) {
  Said said;
  for (const Sweep::Curve& curve : sweep.curves) {
    const std::string sources = sources_text(curve);
    if (!sources.empty()) say(said, sources, curve.algorithm);
  }
  std::string text;
  for (const auto& [sources, algorithms] : said) {
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", sources,
                        said.size() > 1 ? fmt::format(": {}", fmt::join(algorithms, ", ")) : std::string());
  }
  return text.empty() ? text : "curves: " + text;
}

/// " from 64 B to 32 MiB": nothing where that is all of it.
std::string range_text(const Sweep& sweep, const NotCompared& range) {
  const bool from_first = range.from == sweep.points.front();
  const bool to_last = range.to == sweep.points.back();
  if (from_first && to_last) return "";
  if (range.from == range.to) return " at " + point_text(sweep.axis, range.from);
  return fmt::format(" from {}{}", point_text(sweep.axis, range.from),
                     to_last ? " on" : " to " + point_text(sweep.axis, range.to));
}

std::string not_compared_note(const Sweep& sweep) {
  std::vector<std::pair<std::string, std::string>> ranges_of;
  for (const NotCompared& range : not_compared(sweep)) {
    if (ranges_of.empty() || ranges_of.back().first != range.algorithm) ranges_of.push_back({range.algorithm, ""});
    std::string& ranges = ranges_of.back().second;
    ranges += (ranges.empty() ? "" : " and") + range_text(sweep, range);
  }
  Said said;
  for (const auto& [algorithm, ranges] : ranges_of) say(said, ranges, algorithm);
  std::string text;
  for (const auto& [ranges, algorithms] : said) {
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", fmt::join(algorithms, ", "), ranges);
  }
  return text.empty() ? text : "not compared, too much to price at each point: " + text;
}

double last_compared(const Sweep& sweep) { return sweep.points[sweep.points.size() - (ends_between(sweep) ? 2 : 1)]; }

std::string between(Sweep::Axis axis, double from, double to) {
  return from == to ? point_text(axis, from) : fmt::format("{}-{}", point_text(axis, from), point_text(axis, to));
}

}  // namespace

std::string point_text(Sweep::Axis axis, double point) {
  return axis == Sweep::Axis::kBytes ? format_rounded_bytes(point) : fmt::format("{:.0f}", point);
}

std::string fastest_text(const Sweep& sweep) {
  std::string text;
  const std::vector<FastestFrom> ranges = fastest(sweep);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double end = i + 1 < ranges.size() ? ranges[i + 1].from : last_compared(sweep);
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", between(sweep.axis, ranges[i].from, end), ranges[i].algorithm);
    if (!ranges[i].alike.empty()) text += fmt::format(" ({} alike)", fmt::join(ranges[i].alike, ", "));
  }
  if (text.empty()) text = "nobody has a price";
  const std::string last = ends_between(sweep) ? fastest_at_the_end(sweep) : std::string();
  if (!last.empty()) text += fmt::format("; at {}: {}", point_text(sweep.axis, sweep.points.back()), last);
  return text;
}

std::string sources_text(const Sweep::Curve& curve) {
  std::string text;
  for (const Price::Source source :
       {Price::Source::kSimulated, Price::Source::kCalibrated, Price::Source::kClosedForm}) {
    if (std::find(curve.sources.begin(), curve.sources.end(), source) == curve.sources.end()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " and ", to_string(source));
  }
  return text;
}

std::vector<std::string> notes_on(const Sweep& sweep) {
  std::vector<std::string> notes;
  for (std::string note : {curves_note(sweep), not_compared_note(sweep)}) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace lockstep
