#include "schedule/drawing_boxes.h"

#include "base/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace lockstep {

namespace {

using svg::number;

constexpr double kSlotsTop = 15;  ///< within a box: the label stands above
constexpr double kSlotHeight = 12;
constexpr double kLeastColoured = 2.5;  ///< narrower slots have no colour: runs of them are one bar

/// A rectangle as a part of a path: many of one look are one element.
std::string part(double x, double y, double width, double height) {
  return fmt::format("M{} {}h{}v{}h-{}z", number(x), number(y), number(width), number(height), number(width));
}

/// One row while it is put together: the rectangles of each look, and the words.
class Row {
 public:
  Row(const DrawingLayout& layout, const Board& board, double top, CellForms& forms)
      : layout_(layout), board_(board), top_(top), forms_(forms) {}

  void add(int rank, int chunk, bool is_new) {
    const double left = layout_.box_left(rank, chunk);
    (is_new ? new_boxes_ : boxes_) += part(left, top_, layout_.box_width(), kBoxHeight);
    strips_ += part(left + 2, top_ + kSlotsTop, layout_.box_width() - 4, kSlotHeight);
    const std::vector<int> held = board_.contributions(rank, chunk);
    const bool is_complete = held == board_.contributors(chunk);
    slots(left + 2, held, board_.contributors(chunk));
    label(left + layout_.box_width() / 2, held, chunk, is_complete);
  }

  std::string take() const {
    std::string row;
    const auto path = [&](std::string_view style, const std::string& parts) {
      if (!parts.empty()) row += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, parts);
    };
    path("box", boxes_);
    path("box new", new_boxes_);
    path("strip", strips_);
    path("many", many_);
    for (std::size_t i = 0; i < coloured_.size(); ++i) path(fmt::format("slot c{}", i), coloured_[i]);
    return row + words_;
  }

 private:
  void slots(double left, const std::vector<int>& held, const std::vector<int>& contributors) {
    const double each = (layout_.box_width() - 4) / static_cast<double>(contributors.size());
    const auto is_held = [&](std::size_t slot) {
      return slot < contributors.size() && std::binary_search(held.begin(), held.end(), contributors[slot]);
    };
    for (std::size_t i = 0; i < contributors.size(); ++i) {
      if (!is_held(i)) continue;
      const double x = left + static_cast<double>(i) * each, y = top_ + kSlotsTop;
      if (each < kLeastColoured) {
        const std::size_t first = i;
        while (is_held(i + 1)) ++i;
        many_ += part(x, y, static_cast<double>(i + 1 - first) * each, kSlotHeight);
        continue;
      }
      const int colour = colour_of(contributors[i]);
      coloured_[static_cast<std::size_t>(colour)] += part(x, y, each, kSlotHeight);
      const std::string letter = letter_of(contributors[i], layout_.ranks());
      if (DrawingLayout::text_width(letter.size(), 9) + 1 > each) continue;
      words_ += svg_text(x + each / 2, y + 9, colour == kDarkColour ? "letter light" : "letter", letter);
    }
  }

  /// The first way of saying what is held that fits the box.
  void label(double middle, const std::vector<int>& held, int chunk, bool is_complete) {
    if (held.empty()) return;
    const std::string runs = short_sum_of(held, layout_.ranks());
    const std::string count = fmt::format("{}/{}", held.size(), board_.contributors(chunk).size());
    for (const std::string& words :
         {sum_of(held, chunk, layout_.ranks()), runs, count, std::string(is_complete ? "all" : "")}) {
      if (DrawingLayout::text_width(words.size(), layout_.label_size()) > layout_.box_width() - 2) continue;
      words_ += svg_text(middle, top_ + 11, is_complete ? "label done" : "label", words);
      forms_.has_runs |= words == runs && words.find('-') != std::string::npos;
      forms_.has_counts |= words == count;
      return;
    }
  }

  const DrawingLayout& layout_;
  const Board& board_;
  double top_;
  CellForms& forms_;
  std::string boxes_, new_boxes_, strips_, many_, words_;
  std::array<std::string, svg::kColours.size()> coloured_;
};

}  // namespace

int colour_of(int rank) { return rank % static_cast<int>(svg::kColours.size()); }

std::string svg_text(double x, double y, std::string_view style, std::string_view content) {
  return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", style, number(x), number(y),
                     svg::escaped(content));
}

std::string style_of_boxes() {
  std::string css =
      ".box{fill:#fff;stroke:#8a8a8a}.new{stroke:#111;stroke-width:2.2}.strip{fill:#ececec}.many{fill:#555}\n"
      ".slot{stroke:#fff;stroke-width:.5}.letter{font-size:9px;text-anchor:middle}.light{fill:#fff}\n"
      ".label{text-anchor:middle}.done{font-weight:bold}\n";
  for (std::size_t i = 0; i < svg::kColours.size(); ++i) css += fmt::format(".c{}{{fill:{}}}", i, svg::kColours[i]);
  return css + "\n";
}

std::string draw_boxes(const DrawingLayout& layout, const Board& board, const Step& step, double top,
                       CellForms& forms) {
  std::vector<bool> is_new(static_cast<std::size_t>(layout.ranks() * layout.chunks()));
  const auto index = [&](int rank, int chunk) { return static_cast<std::size_t>(rank * layout.chunks() + chunk); };
  for (const Transfer& transfer : step) {
    if (layout.shows(transfer)) is_new[index(transfer.to, transfer.chunk)] = true;
  }
  Row row(layout, board, top, forms);
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (int chunk = 0; chunk < layout.chunks(); ++chunk) row.add(rank, chunk, is_new[index(rank, chunk)]);
  }
  return row.take();
}

}  // namespace lockstep
