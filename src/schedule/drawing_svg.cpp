#include "base/svg.h"
#include "schedule/board.h"
#include "schedule/drawing.h"
#include "schedule/drawing_arrows.h"
#include "schedule/drawing_boxes.h"
#include "schedule/drawing_layout.h"
#include "schedule/drawing_words.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <string>
#include <utility>

namespace lockstep {

namespace {

using svg::number;

constexpr std::size_t kMostBytes = 800'000;   ///< of a picture; steps that would make it longer are left out
constexpr std::size_t kMostDescribed = 4000;  ///< characters of the transfers in words, for a screen reader
constexpr double kLeft = 24;
constexpr double kTop = 66;

std::string style_sheet(const DrawingLayout& layout) {
  return fmt::format(
             "text{{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#222;font-size:11px}}\n"
             ".heading{{font-size:{}px;font-weight:bold}}.summary,.step{{font-size:12px}}.lane{{fill:#f4f4f4}}\n"
             ".rank,.warning{{font-size:12px;font-weight:bold}}.rank{{text-anchor:middle}}\n"
             ".chunk{{font-size:9px;text-anchor:middle;fill:#555}}.label{{font-size:{}px}}\n",
             number(DrawingLayout::kHeadingSize), number(layout.label_size())) +
         style_of_boxes() + style_of_arrows();
}

/// A picture from the top down. Elements are collected as text.
class Picture {
 public:
  explicit Picture(const Schedule& schedule) : schedule_(schedule), layout_(schedule), board_(schedule) {
    add_text(kLeft, 32, "heading", schedule.name);
    add_text(kLeft, 50, "summary", summary_of(schedule));
    add_heads();
    add_text(kLeft, y_ + kBoxHeight / 2 + 4, "step", "start");
    body_ += draw_boxes(layout_, board_, {}, y_, forms_);
    y_ += kBoxHeight;
    for (const Step& step : schedule.steps) {
      if (!add(step)) break;
    }
    lanes_bottom_ = y_ + 8;
    y_ += 34;
    add_notes();
  }

  std::string to_text() const {
    const std::string title = fmt::format("{}: {}", schedule_.name, summary_of(schedule_));
    const std::string description = "Ranks side by side, steps from the top down. " + transfers_in_words();
    return svg::to_text({.width = layout_.width(),
                         .height = y_,
                         .title = title,
                         .description = description,
                         .style = style_sheet(layout_),
                         .body = heads_of_arrows() + lanes() + body_});
  }

 private:
  void add_text(double x, double y, std::string_view style, std::string_view content) {
    body_ += svg_text(x, y, style, content);
  }
  void add_note(std::string_view content, double x = kLeft) { add_text(x, y_, "note", content); }
  void add_heads();
  bool add(const Step& step);
  void add_notes();
  std::string lanes() const;
  std::string transfers_in_words() const;

  const Schedule& schedule_;
  DrawingLayout layout_;
  Board board_;
  std::string body_;
  double y_ = kTop;  ///< where the next thing goes
  double lanes_bottom_ = 0;
  std::size_t steps_ = 0;  ///< drawn
  CellForms forms_;
};

void Picture::add_heads() {
  const bool is_wide = layout_.lane_width() > DrawingLayout::text_width(9, 12);
  const bool says_chunk = layout_.box_width() > DrawingLayout::text_width(9, 9);
  for (int rank = 0; rank < schedule_.ranks; ++rank) {
    const double middle = layout_.lane_left(rank) + layout_.lane_width() / 2;
    add_text(middle, y_ + 17, "rank", fmt::format("{}{}", is_wide ? "rank " : "", rank));
    const std::string letter = letter_of(rank, schedule_.ranks);
    if (letter != std::to_string(rank)) {
      body_ += fmt::format("<path class=\"c{}\" d=\"M{} {}h18v14h-18z\"/>\n", colour_of(rank), number(middle - 9),
                           number(y_ + 23));
      add_text(middle, y_ + 33, colour_of(rank) == kDarkColour ? "letter light" : "letter", letter);
    }
    for (int chunk = 0; schedule_.chunks > 1 && chunk < layout_.chunks(); ++chunk) {
      add_text(layout_.box_left(rank, chunk) + layout_.box_width() / 2, y_ + 50, "chunk",
               fmt::format("{}{}", says_chunk ? "chunk " : "", chunk));
    }
  }
  y_ += schedule_.chunks > 1 ? 55 : 44;
}

/// One step: its arrows, then who holds what. False, and nothing added, where the picture would be too large.
bool Picture::add(const Step& step) {
  const double height = height_of_arrows(layout_, step);
  std::string row = fmt::format("<g class=\"step\" id=\"step{}\">\n", steps_);
  row += svg_text(kLeft, y_ + height / 2 + 4, "step", fmt::format("step {}", steps_));
  row += draw_arrows(layout_, step, y_, height, kMostBytes);
  if (body_.size() + row.size() > kMostBytes) return false;
  board_.carry_out(step);
  CellForms forms = forms_;
  row += draw_boxes(layout_, board_, step, y_ + height, forms) + "</g>\n";
  if (body_.size() + row.size() > kMostBytes) return false;
  forms_ = forms;
  body_ += row;
  y_ += height + kBoxHeight;
  ++steps_;
  return true;
}

void Picture::add_notes() {
  constexpr double kLine = 17;
  const auto note_if = [&](bool is_so, const std::string& content) {
    if (!is_so) return;
    add_text(kLeft, y_, "warning", content);
    y_ += kLine;
  };
  note_if(layout_.chunks() < schedule_.chunks,
          fmt::format("Only the first {} of {} chunks are drawn.", layout_.chunks(), schedule_.chunks));
  note_if(steps_ < schedule_.steps.size(),
          fmt::format("Only the first {} of {} steps are drawn.", steps_, schedule_.steps.size()));
  double left = kLeft;
  for (const auto& [kind, words] : {std::pair{TransferKind::kReduce, "reduce: is added to what is there"},
                                    {TransferKind::kCopy, "copy: takes the place of what is there"}}) {
    if (!has_transfers(schedule_, kind)) continue;
    body_ += draw_sample_arrow(kind, left, y_ - 4);
    add_note(words, left + 46);
    left += 290;
  }
  if (left > kLeft) y_ += kLine;
  add_note("Arrows have the colour of the sender. A thick border: written in this step.");
  y_ += kLine;
  add_note(explanation_of_cells(schedule_, forms_) + ". Bold: all of it.");
  y_ += kLine;
}

std::string Picture::lanes() const {
  std::string text;
  for (int rank = 0; rank < schedule_.ranks; ++rank) {
    text += fmt::format("<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\n",
                        number(layout_.lane_left(rank)), number(kTop), number(layout_.lane_width()),
                        number(lanes_bottom_ - kTop));
  }
  return text;
}

std::string Picture::transfers_in_words() const {
  std::string words;
  for (std::size_t i = 0; i < steps_; ++i) {
    words += fmt::format("Step {}:", i);
    for (const auto& [kind, chunk, from, to] : schedule_.steps[i]) {
      words += fmt::format(" {} chunk {} from {} to {};", word_of(kind), chunk, from, to);
      if (words.size() > kMostDescribed) return words + " and more.";
    }
    words.back() = '.';
    words += ' ';
  }
  return words;
}

}  // namespace

std::string draw_svg(const Schedule& schedule) {
  require_in_range(schedule);
  if (schedule.ranks > DrawingLayout::kMostRanks) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("A picture of {} ranks would be too large to read; at most {} are drawn. Ask for fewer "
                            "(-n 8), or for --format json.",
                            schedule.ranks, DrawingLayout::kMostRanks));
  }
  return Picture(schedule).to_text();
}

}  // namespace lockstep
