#include "bench/comparison/plot.h"

#include "base/line_chart.h"
#include "base/units.h"
#include "bench/comparison/bars.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace lockstep::compare {

std::string plot(const SectionResult& result, const std::string& title) {
  const std::set<std::size_t> sizes = sizes_of(result);
  svg::LineChart chart{.title = title + ": all-reduce of float32, in place",
                       .x_title = "bytes on each rank; lower is better",
                       .x = std::vector<double>(sizes.begin(), sizes.end()),
                       .x_text = [](double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); },
                       .lines = {}};
  for (const Cell& cell : result.cells) {
    if (cell.median_us <= 0) continue;
    auto line = std::find_if(chart.lines.begin(), chart.lines.end(),
                             [&](const svg::LineChart::Line& known) { return known.name == cell.subject; });
    if (line == chart.lines.end()) {
      line = chart.lines.insert(chart.lines.end(), {cell.subject, std::vector<std::optional<double>>(chart.x.size())});
    }
    const auto place = std::lower_bound(chart.x.begin(), chart.x.end(), static_cast<double>(cell.bytes));
    line->seconds[static_cast<std::size_t>(place - chart.x.begin())] = 1e-6 * cell.median_us;
  }
  return svg::to_text(chart);
}

}  // namespace lockstep::compare
