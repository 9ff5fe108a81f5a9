#include "report/page/fill_page.h"

#include <utility>

namespace lockstep {

namespace {

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string escape_html(std::string text) {
  return replace_all(replace_all(replace_all(std::move(text), "&", "&amp;"), "<", "&lt;"), ">", "&gt;");
}

void fill(std::string& page, std::string_view place, const std::string& text) {
  page.replace(page.find(place), place.size(), text);
}

}  // namespace

std::string fill_page(std::string_view page, const std::string& title, const nlohmann::ordered_json& data) {
  std::string text(page);
  // With no '<' in it, nothing in the data can end the script element that holds it.
  const std::string json =
      replace_all(data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), "<", "\\u003c");
  // The data first: the title's place stands before it, so nothing that is filled in is taken for a place.
  fill(text, "{{data}}", json);
  fill(text, "{{title}}", escape_html(title));
  return text;
}

}  // namespace lockstep
