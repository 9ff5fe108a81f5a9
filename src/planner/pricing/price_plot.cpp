#include "planner/pricing/price_plot.h"

#include "base/line_chart.h"
#include "base/units.h"
#include "planner/pricing/sweep_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace lockstep {

std::string price_plot(const Sweep& sweep, const std::string& title) {
  const bool is_of_bytes = sweep.axis == Sweep::Axis::kBytes;
  svg::LineChart chart{.title = title,
                       .x_title = is_of_bytes ? "bytes" : "ranks",
                       .x = sweep.points,
                       .x_text =
                           [is_of_bytes](double value) {
                             return is_of_bytes ? format_bytes(static_cast<std::uint64_t>(std::llround(value)))
                                                : format_count(static_cast<std::uint64_t>(value));
                           },
                       .lines = {},
                       .last_stands_alone = ends_between(sweep),
                       .circles = {},
                       .nothing = "There is no price to draw.",
                       .notes = notes_on(sweep)};
  for (const Sweep::Curve& curve : sweep.curves) chart.lines.push_back({curve.algorithm, curve.seconds});
  for (const Crossing& crossing : crossings(sweep)) {
    chart.circles.push_back({crossing.at, crossing.seconds,
                             fmt::format("{}: from here on{} {} is faster than {}", chart.x_text(crossing.at),
                                         is_of_bytes ? "" : ", at powers of two,", crossing.above, crossing.below)});
  }
  return svg::to_text(chart);
}

}  // namespace lockstep
