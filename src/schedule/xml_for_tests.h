#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::xml {

/// Whether `text` is one well-formed element (after a declaration): tags nest and close, attributes are quoted and not
/// repeated, what stands between them is escaped. For the plain files that we write: no comments, CDATA or doctypes.
inline testing::AssertionResult is_well_formed(std::string_view text) {
  const auto fail = [&](const std::string& why) {
    return testing::AssertionFailure() << why << " before: " << text.substr(0, 80);
  };
  const auto is_escaped = [](std::string_view words) {
    for (std::size_t at = words.find('&'); at != std::string_view::npos; at = words.find('&', at + 1)) {
      bool is_known = false;
      for (const std::string_view name : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
        is_known = is_known || words.substr(at).starts_with(name);
      }
      if (!is_known) return false;
    }
    return words.find('>') == std::string_view::npos;
  };
  if (text.starts_with("<?xml ")) text.remove_prefix(text.find("?>") + 2);
  std::vector<std::string> open;
  bool has_root = false;
  while (!text.empty()) {
    const std::size_t tag = std::min(text.find('<'), text.size());
    const std::string_view between = text.substr(0, tag);
    if (!is_escaped(between)) return fail("markup in text");
    if (open.empty() && between.find_first_not_of(" \n") != std::string_view::npos) return fail("text outside");
    text.remove_prefix(tag);
    if (text.empty()) break;
    if (text.starts_with("</")) {
      const std::size_t end = text.find('>');
      if (open.empty() || end == std::string_view::npos || text.substr(2, end - 2) != open.back())
        return fail("wrong end");
      open.pop_back();
      text.remove_prefix(end + 1);
      continue;
    }
    if (open.empty() && has_root) return fail("a second root");
    has_root = true;
    std::size_t at = text.find_first_of(" />", 1);
    if (at == std::string_view::npos || at == 1) return fail("no name");
    open.emplace_back(text.substr(1, at - 1));
    std::vector<std::string_view> names;
    while (at < text.size() && text[at] == ' ') {
      const std::size_t equals = text.find("=\"", at);
      const std::size_t quote = equals == std::string_view::npos ? equals : text.find('"', equals + 2);
      if (quote == std::string_view::npos) return fail("no value");
      const std::string_view name = text.substr(at + 1, equals - at - 1),
                             value = text.substr(equals + 2, quote - equals - 2);
      for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != ':') return fail("bad attribute");
      }
      if (std::find(names.begin(), names.end(), name) != names.end()) return fail("an attribute twice");
      if (value.find('<') != std::string_view::npos || !is_escaped(value)) return fail("markup in a value");
      names.push_back(name);
      at = quote + 1;
    }
    if (text.substr(at).starts_with("/>")) {
      open.pop_back();
      ++at;
    }
    if (at >= text.size() || text[at] != '>') return fail("no end of a tag");
    text.remove_prefix(at + 1);
  }
  if (!open.empty()) return fail(open.back() + " stays open");
  return has_root ? testing::AssertionSuccess() : fail("nothing there");
}

/// How often `part` stands in `text`.
inline int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace lockstep::xml
