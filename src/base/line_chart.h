#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::svg {

/// Times over sizes, both axes logarithmic, a line for each subject. Lines differ by colour, dashes and marks, and have
/// their names at their ends, so that the picture is legible in black and white. Marks say their values to the pointer.
struct LineChart {
  struct Line {
    std::string name;
    std::vector<std::optional<double>> seconds;  ///< one for each of `x`; none, or 0: a gap
  };

  /// Around a place of interest.
  struct Circle {
    double x = 0;  ///< within those of the chart
    double seconds = 0;
    std::string words;  ///< what it says to the pointer
  };

  std::string title;
  std::string x_title;
  std::vector<double> x;                      ///< ascending, above 0
  std::function<std::string(double)> x_text;  ///< what stands below such a value
  std::vector<Line> lines;
  bool last_stands_alone = false;  ///< no line leads to the last of `x`
  std::vector<Circle> circles = {};
  std::string nothing = "There is nothing to draw.";  ///< what stands there where no line has a point
  std::vector<std::string> notes = {};                ///< sentences below the picture
};

/// The picture as a whole SVG file.
std::string to_text(const LineChart& chart);

}  // namespace lockstep::svg
