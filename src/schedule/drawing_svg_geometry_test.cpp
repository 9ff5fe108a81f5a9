// What a person reads off a picture is what the schedule does: the picture is read back from its SVG and nothing else.
#include "schedule/builder.h"
#include "schedule/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

struct Rectangle {
  double left, top, width, height;

  bool spans(double x) const { return left <= x && x <= left + width; }
  bool holds(const Rectangle& inner) const {
    return spans(inner.left) && spans(inner.left + inner.width) && top <= inner.top &&
           inner.top + inner.height <= top + height;
  }
};

/// The rectangles of the paths of this class.
std::vector<Rectangle> rectangles_of(const std::string& svg, const std::string& class_name) {
  static const std::regex kRectangle("M([0-9.]+) ([0-9.]+)h([0-9.]+)v([0-9.]+)h-[0-9.]+z");
  const std::string opening = "<path class=\"" + class_name + "\" d=\"";
  std::vector<Rectangle> rectangles;
  for (std::size_t begin = svg.find(opening); begin != std::string::npos; begin = svg.find(opening, begin + 1)) {
    const std::string path = svg.substr(begin, svg.find("/>", begin) - begin);
    for (std::sregex_iterator it(path.begin(), path.end(), kRectangle), none; it != none; ++it) {
      const auto at = [&](std::size_t i) { return std::stod((*it)[i]); };
      rectangles.push_back({at(1), at(2), at(3), at(4)});
    }
  }
  return rectangles;
}

/// A picture cut where steps begin: what stands before the first, then each step.
std::vector<std::string> parts_of(const std::string& svg) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end) {
    end = svg.find("<g class=\"step\"", begin + 1);
    parts.push_back(svg.substr(begin, end - begin));
  }
  return parts;
}

/// The boxes of a part, from left to right: rank by rank, in each chunk by chunk.
std::vector<Rectangle> boxes_of(const std::string& part) {
  std::vector<Rectangle> boxes = rectangles_of(part, "box");
  const std::vector<Rectangle> written = rectangles_of(part, "box new");
  boxes.insert(boxes.end(), written.begin(), written.end());
  std::sort(boxes.begin(), boxes.end(), [](const auto& a, const auto& b) { return a.left < b.left; });
  return boxes;
}

/// The slots of a part that are filled, by colour.
using Slots = std::vector<std::vector<Rectangle>>;
Slots slots_of(const std::string& part) {
  Slots slots;
  for (int colour = 0; colour < 8; ++colour) {
    slots.push_back(rectangles_of(part, "slot c" + std::to_string(colour)));
  }
  return slots;
}

/// The colours in a box, from left to right.
std::vector<int> filled(const Slots& slots, const Rectangle& box) {
  std::vector<std::pair<double, int>> inside;
  for (int colour = 0; colour < std::ssize(slots); ++colour) {
    for (const Rectangle& slot : slots[colour]) {
      if (box.holds(slot)) inside.emplace_back(slot.left, colour);
    }
  }
  std::sort(inside.begin(), inside.end());
  std::vector<int> colours;
  for (const auto& [left, colour] : inside) colours.push_back(colour);
  return colours;
}

/// The number of the one box that x lies in, or -1.
int box_at(const std::vector<Rectangle>& boxes, double x) {
  const auto box = std::find_if(boxes.begin(), boxes.end(), [x](const Rectangle& one) { return one.spans(x); });
  return box == boxes.end() ? -1 : static_cast<int>(box - boxes.begin());
}

/// The transfers that the arrows of a part show: each from a box right above it to one right below.
Step transfers_shown(const std::string& part, const std::vector<Rectangle>& above, int chunks) {
  constexpr double kNear = 10;
  static const std::regex kArrow(
      "<path class=\"(reduce|copy) l([0-9])\" d=\"M([0-9.]+) ([0-9.]+)C[0-9. ]* ([0-9.]+) ([0-9.]+)\" "
      "marker-end=\"url\\(#(full|open)([0-9])\\)\"/>");
  const std::vector<Rectangle> below = boxes_of(part);
  Step step;
  for (std::sregex_iterator it(part.begin(), part.end(), kArrow), none; it != none; ++it) {
    const auto at = [&](std::size_t i) { return std::stod((*it)[i]); };
    EXPECT_NEAR(at(4), above.front().top + above.front().height, kNear) << it->str();
    EXPECT_NEAR(at(6), below.front().top, kNear) << it->str();
    const int from = box_at(above, at(3)), to = box_at(below, at(5));
    EXPECT_EQ(from % chunks, to % chunks) << "chunks stay what they are";
    EXPECT_EQ((*it)[1] == "copy", (*it)[7] == "open");
    EXPECT_EQ((*it)[2], (*it)[8]) << "a head has its line's colour";
    EXPECT_EQ(at(2), from / chunks) << "the sender's colour";
    step.push_back(
        {(*it)[1] == "copy" ? TransferKind::kCopy : TransferKind::kReduce, from % chunks, from / chunks, to / chunks});
  }
  return step;
}

/// Whose contributions are held, by rank and chunk, of an all_reduce.
using Contributions = std::vector<std::vector<std::set<int>>>;

Contributions at_the_start(const Schedule& schedule) {
  Contributions held;
  for (int rank = 0; rank < schedule.ranks; ++rank) held.emplace_back(schedule.chunks, std::set<int>{rank});
  return held;
}

void follow(const Step& step, Contributions& held) {
  const Contributions before = held;
  for (const auto& [kind, chunk, from, to] : step) {
    if (kind == TransferKind::kCopy) held[to][chunk].clear();
    held[to][chunk].insert(before[from][chunk].begin(), before[from][chunk].end());
  }
}

void expect_filled(const std::string& part, const Schedule& schedule, const Contributions& held) {
  const std::vector<Rectangle> boxes = boxes_of(part);
  const Slots slots = slots_of(part);
  ASSERT_EQ(std::ssize(boxes), schedule.ranks * schedule.chunks);
  for (int i = 0; i < std::ssize(boxes); ++i) {
    const int rank = i / schedule.chunks, chunk = i % schedule.chunks;
    EXPECT_THAT(filled(slots, boxes[i]), testing::ElementsAreArray(held[rank][chunk]))
        << "chunk " << chunk << " of rank " << rank;
    EXPECT_EQ(boxes[i].top, boxes[0].top);
  }
}

/// Reads the whole picture.
void expect_shown(const Schedule& schedule) {
  SCOPED_TRACE(schedule.name);
  const std::vector<std::string> parts = parts_of(draw_svg(schedule));
  ASSERT_EQ(parts.size(), schedule.steps.size() + 1);
  Contributions held = at_the_start(schedule);
  expect_filled(parts[0], schedule, held);
  std::vector<Rectangle> above = boxes_of(parts[0]);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const std::string name = "step " + std::to_string(i);
    SCOPED_TRACE(name);
    const std::string& part = parts[i + 1];
    follow(schedule.steps[i], held);
    expect_filled(part, schedule, held);
    EXPECT_THAT(transfers_shown(part, above, schedule.chunks), testing::UnorderedElementsAreArray(schedule.steps[i]));
    EXPECT_THAT(part, testing::HasSubstr(">" + name + "</text>"));
    const std::vector<Rectangle> below = boxes_of(part);
    EXPECT_GT(below.front().top, above.front().top + above.front().height) << "steps go down";
    above = below;
  }
}

Schedule ring_of(int ranks) {
  ScheduleBuilder s({.name = "ring", .ranks = ranks, .chunks = ranks});
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int chunk = (rank - step + 2 * ranks) % ranks, next = (rank + 1) % ranks;
      if (step < ranks - 1) s.reduce(chunk, {.from = rank, .to = next});
      if (step >= ranks - 1) s.copy(chunk, {.from = rank, .to = next});
    }
    s.end_step();
  }
  return s.take();
}

/// Everybody sends every chunk to the rank that it is summed on, and that hands the sum out.
Schedule direct_of(int ranks) {
  ScheduleBuilder s({.name = "direct", .ranks = ranks, .chunks = ranks});
  for (const bool gathers : {true, false}) {
    for (int owner = 0; owner < ranks; ++owner) {
      for (int rank = 0; rank < ranks; ++rank) {
        if (rank != owner && gathers) s.reduce(owner, {.from = rank, .to = owner});
        if (rank != owner && !gathers) s.copy(owner, {.from = owner, .to = rank});
      }
    }
    s.end_step();
  }
  return s.take();
}

Schedule star_of(int ranks) {
  ScheduleBuilder s({.name = "star", .ranks = ranks, .chunks = 1});
  for (int rank = 1; rank < ranks; ++rank) s.reduce(0, {.from = rank, .to = 0});
  s.end_step();
  for (int rank = 1; rank < ranks; ++rank) s.copy(0, {.from = 0, .to = rank});
  return s.take();
}

}  // namespace

TEST(DrawingSvgGeometry, ArrowsAndSlotsAreWhatTheScheduleDoes) {
  expect_shown(ring_of(4));
  expect_shown(star_of(4));
  expect_shown(direct_of(3));
  expect_shown(ring_of(8));
}

TEST(DrawingSvgGeometry, RanksStandInTheirOrder) {
  static const std::regex kRank("<text class=\"rank\" x=\"([0-9.]+)\" y=\"[0-9.]+\">rank ([0-9])</text>");
  const std::string svg = draw_svg(ring_of(4));
  const std::vector<Rectangle> boxes = boxes_of(parts_of(svg).front());
  int rank = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), kRank), none; it != none; ++it, ++rank) {
    EXPECT_EQ((*it)[2], std::to_string(rank));
    const double middle = std::stod((*it)[1]);
    EXPECT_GT(middle, boxes[4 * rank].left);
    EXPECT_LT(middle, boxes[4 * rank + 3].left + boxes[4 * rank + 3].width);
  }
  EXPECT_EQ(rank, 4);
}

TEST(DrawingSvgGeometry, SlotsHaveTheirLettersWhereThoseFit) {
  const auto letters = [](int ranks, int chunks) {
    const std::string svg = draw_svg({.name = "still", .ranks = ranks, .chunks = chunks});
    static const std::regex kLetter("<text class=\"letter(?: light)?\"");
    return std::distance(std::sregex_iterator(svg.begin(), svg.end(), kLetter), std::sregex_iterator());
  };
  EXPECT_EQ(letters(5, 5), 5 + 25) << "one in the head of each rank, one in each box";
  EXPECT_EQ(letters(8, 2), 8 + 16);
}

}  // namespace lockstep
