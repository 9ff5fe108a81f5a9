#include "base/svg.h"

#include <fmt/format.h>

#include <cmath>

namespace lockstep::svg {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      case '\n':
      case '\t': result += c; break;
      default: result += (c >= ' ' && c <= '~') ? c : '?';
    }
  }
  return result;
}

std::string number(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

std::string to_text(const Document& document) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-labelledby=\"title description\">\n"
      "<title id=\"title\">{2}</title>\n<desc id=\"description\">{3}</desc>\n<style>\n{4}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{5}</svg>\n",
      number(document.width), number(document.height), escaped(document.title), escaped(document.description),
      document.style, document.body);
}

}  // namespace lockstep::svg
