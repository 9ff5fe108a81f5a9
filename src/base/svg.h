#pragma once

#include <array>
#include <string>
#include <string_view>

/// What pictures in SVG are put together from. All of it is text; numbers are pixels, with y downwards.
namespace lockstep::svg {

/// Okabe and Ito's colours, which people with any kind of colour blindness tell apart, without black and with grey
/// last. Dark and light ones take turns, so that neighbours differ in print without colours too; the purple is a little
/// darker for that. Most are for areas: on a white page they are too light for lines.
inline constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#e69f00", "#009e73", "#f0e442",
                                                          "#c1729e", "#56b4e9", "#d55e00", "#bcbcbc"};
/// The same hues, dark enough for lines on white; neighbours differ as much.
inline constexpr std::array<std::string_view, 8> kLineColours{"#0072b2", "#c58700", "#006245", "#86802c",
                                                              "#8f3b6e", "#469bcd", "#a84600", "#3a3a3a"};

/// Text that stands between tags or in an attribute: markup is escaped, what XML cannot hold becomes '?'.
std::string escaped(std::string_view text);

/// "12", "12.5": at most one decimal, which is finer than a printer needs.
std::string number(double value);

/// A whole file that needs nothing from outside. `title` and `description` are what a screen reader says.
struct Document {
  double width = 0;
  double height = 0;
  std::string_view title;
  std::string_view description;
  std::string_view style;  ///< CSS for the classes in `body`
  std::string_view body;   ///< elements, already escaped
};
std::string to_text(const Document& document);

}  // namespace lockstep::svg
