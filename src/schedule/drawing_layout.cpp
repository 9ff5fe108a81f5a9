#include "schedule/drawing_layout.h"

#include "schedule/drawing_words.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace lockstep {

namespace {

constexpr int kMostBoxes = 80;  ///< across; eight ranks with eight chunks fit
constexpr int kFewBoxes = 48;   ///< across where not all fit anyway: rather fewer that can be read
constexpr double kPageWidth = 1280;
constexpr double kNarrowestBox = 28;
constexpr double kComfortableBox = 60;
constexpr double kNarrowestPage = 640;  ///< so that notes fit
constexpr double kMargin = 24;
constexpr double kStepColumn = 60;  ///< for "step 12" at the left
constexpr int kManyLanes = 16;
constexpr double kBoxGap = 4;
constexpr double kLabelSize = 9;

int chunks_drawn(const Schedule& schedule) {
  if (schedule.ranks * static_cast<std::int64_t>(schedule.chunks) <= kMostBoxes) return schedule.chunks;
  return std::clamp(kFewBoxes / schedule.ranks, 1, schedule.chunks);
}

/// What the longest sum takes with all its terms.
double widest_label(const Schedule& schedule, int chunks) {
  std::vector<int> everybody(static_cast<std::size_t>(schedule.ranks));
  std::iota(everybody.begin(), everybody.end(), 0);
  return DrawingLayout::text_width(sum_of(everybody, chunks - 1, schedule.ranks).size(), kLabelSize) + 4;
}

}  // namespace

DrawingLayout::DrawingLayout(const Schedule& schedule)
    : ranks_(schedule.ranks),
      chunks_(chunks_drawn(schedule)),
      heading_width_(text_width(schedule.name.size(), kHeadingSize)) {
  const double lanes = kPageWidth - kStepColumn - ranks_ * (lane_gap() + 2 * lane_padding());
  // Whole pixels, so that lines are sharp.
  box_width_ = std::floor(std::clamp(lanes / (ranks_ * chunks_) - kBoxGap, kNarrowestBox,
                                     std::max(kComfortableBox, widest_label(schedule, chunks_))));
}

double DrawingLayout::lane_width() const { return chunks_ * (box_width_ + kBoxGap) - kBoxGap + 2 * lane_padding(); }
double DrawingLayout::lane_left(int rank) const { return kMargin + kStepColumn + rank * (lane_width() + lane_gap()); }
double DrawingLayout::box_left(int rank, int chunk) const {
  return lane_left(rank) + lane_padding() + chunk * (box_width_ + kBoxGap);
}
double DrawingLayout::label_size() const { return box_width_ < 40 ? kLabelSize - 1 : kLabelSize; }
double DrawingLayout::width() const {
  return std::max({lane_left(ranks_) - lane_gap() + kMargin, 2 * kMargin + heading_width_, kNarrowestPage});
}
double DrawingLayout::lane_gap() const { return ranks_ > kManyLanes ? 6 : 12; }
double DrawingLayout::lane_padding() const { return lane_gap() / 2; }

double DrawingLayout::text_width(std::size_t characters, double font_size) {
  return static_cast<double>(characters) * font_size * 0.61;
}

}  // namespace lockstep
