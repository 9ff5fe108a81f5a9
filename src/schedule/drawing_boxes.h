#pragma once

#include "schedule/board.h"
#include "schedule/drawing_layout.h"
#include "schedule/drawing_words.h"

#include <string>
#include <string_view>

namespace lockstep {

inline constexpr double kBoxHeight = 30;

/// A row of an SVG picture: who holds what, a box for each chunk that is drawn of each rank. In a box, under a label,
/// each contributor's slot is filled where its contribution is in. Boxes that `step` wrote stand out. How labels say it
/// is added to `forms`.
std::string draw_boxes(const DrawingLayout& layout, const Board& board, const Step& step, double top, CellForms& forms);

/// The CSS for them.
std::string style_of_boxes();

/// A rank's colour, an index into svg::kColours; after eight ranks they begin again. Letters on the dark one are white.
int colour_of(int rank);
inline constexpr int kDarkColour = 0;

/// A <text> of this class, centred at or beginning at x, as the class says.
std::string svg_text(double x, double y, std::string_view style, std::string_view content);

}  // namespace lockstep
