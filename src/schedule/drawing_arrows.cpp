#include "schedule/drawing_arrows.h"

#include "base/svg.h"
#include "schedule/drawing_boxes.h"
#include "schedule/drawing_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

using svg::number;

constexpr double kRoom = 4;  ///< between a box and an arrow's end
constexpr double kHead = 5;  ///< of an arrow's head that the line does not reach into
constexpr std::size_t kGrey = svg::kLineColours.size() - 1;

using Box = std::pair<int, int>;  ///< rank and chunk

/// Where arrows leave or reach boxes: those of one box stand side by side, in the order of the ranks at their far ends.
class Ends {
 public:
  explicit Ends(const DrawingLayout& layout) : layout_(layout) {}

  void add(const Box& box, int far_rank) { far_ranks_[box].push_back(far_rank); }
  void sort() {
    for (auto& [box, ranks] : far_ranks_) std::sort(ranks.begin(), ranks.end());
  }
  double place(const Box& box, int far_rank) const {
    const std::vector<int>& ranks = far_ranks_.at(box);
    const auto index = std::lower_bound(ranks.begin(), ranks.end(), far_rank) - ranks.begin();
    return layout_.box_left(box.first, box.second) +
           layout_.box_width() * static_cast<double>(index + 1) / static_cast<double>(ranks.size() + 1);
  }

 private:
  const DrawingLayout& layout_;
  std::map<Box, std::vector<int>> far_ranks_;
};

std::string_view head_of(TransferKind kind) { return kind == TransferKind::kCopy ? "open" : "full"; }

}  // namespace

double height_of_arrows(const DrawingLayout& layout, const Step& step) {
  double farthest = 0, arrows = 0;
  for (const Transfer& transfer : step) {
    if (!layout.shows(transfer)) continue;
    farthest = std::max(farthest, std::abs(layout.lane_left(transfer.to) - layout.lane_left(transfer.from)));
    ++arrows;
  }
  return std::round(std::min(44 + farthest / 40 + arrows / 2, 130.0));
}

std::string draw_arrows(const DrawingLayout& layout, const Step& step, double top, double height,
                        std::size_t most_bytes) {
  Ends leaving(layout), reaching(layout);
  for (const Transfer& transfer : step) {
    if (!layout.shows(transfer)) continue;
    leaving.add({transfer.from, transfer.chunk}, transfer.to);
    reaching.add({transfer.to, transfer.chunk}, transfer.from);
  }
  leaving.sort();
  reaching.sort();
  std::string arrows;
  for (const Transfer& transfer : step) {
    if (arrows.size() > most_bytes) break;
    if (!layout.shows(transfer)) continue;
    const double from = leaving.place({transfer.from, transfer.chunk}, transfer.to);
    const double to = reaching.place({transfer.to, transfer.chunk}, transfer.from);
    const double start = top + kRoom, end = top + height - kRoom - kHead, bend = std::min(height * 0.4, 30.0);
    const int colour = colour_of(transfer.from);
    arrows +=
        fmt::format("<path class=\"{} l{}\" d=\"M{} {}C{} {} {} {} {} {}\" marker-end=\"url(#{}{})\"/>\n",
                    word_of(transfer.kind), colour, number(from), number(start), number(from), number(start + bend),
                    number(to), number(end - bend), number(to), number(end), head_of(transfer.kind), colour);
  }
  return arrows;
}

std::string draw_sample_arrow(TransferKind kind, double left, double y) {
  return fmt::format("<path class=\"line{} l{}\" d=\"M{} {}h34\" marker-end=\"url(#{}{})\"/>\n",
                     kind == TransferKind::kCopy ? " dashed" : "", kGrey, number(left), number(y), head_of(kind),
                     kGrey);
}

std::string style_of_arrows() {
  std::string css = ".reduce,.copy,.line{fill:none;stroke-width:1.6}.copy,.dashed{stroke-dasharray:5 3}\n";
  for (std::size_t i = 0; i < svg::kLineColours.size(); ++i) {
    css += fmt::format(".l{0}{{stroke:{1}}}.h{0}{{fill:{1}}}", i, svg::kLineColours[i]);
  }
  return css + "\n";
}

std::string heads_of_arrows() {
  std::string heads = "<defs>\n";
  for (std::size_t i = 0; i < svg::kLineColours.size(); ++i) {
    constexpr std::string_view kMarker =
        "<marker id=\"{}{}\" viewBox=\"0 0 8 8\" refX=\"{}\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\">";
    heads +=
        fmt::format(kMarker, "full", i, 2) + fmt::format("<path class=\"h{}\" d=\"M0 0L8 4L0 8z\"/></marker>\n", i);
    heads +=
        fmt::format(kMarker, "open", i, 6) +
        fmt::format("<path class=\"l{}\" d=\"M1 .5L7 4L1 7.5\" fill=\"none\" stroke-width=\"1.4\"/></marker>\n", i);
  }
  return heads + "</defs>\n";
}

}  // namespace lockstep
