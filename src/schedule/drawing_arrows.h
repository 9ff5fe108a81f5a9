#pragma once

#include "schedule/drawing_layout.h"

#include <cstddef>
#include <string>

namespace lockstep {

/// The height that the arrows of a step want between two rows of boxes.
double height_of_arrows(const DrawingLayout& layout, const Step& step);

/// An arrow for each transfer whose chunk is drawn, from its source in the row of boxes that ends at `top` to its
/// target in the row that begins `height` below: solid with a full head for reduce, dashed with an open one for copy,
/// in the colour of the sender. Ends with the arrow that makes it longer than `most_bytes`.
std::string draw_arrows(const DrawingLayout& layout, const Step& step, double top, double height,
                        std::size_t most_bytes);

/// The same kind of arrow, level and in grey, for a legend.
std::string draw_sample_arrow(TransferKind kind, double left, double y);

/// The CSS and the <defs> that they need.
std::string style_of_arrows();
std::string heads_of_arrows();

}  // namespace lockstep
