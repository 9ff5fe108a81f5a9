#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::testing_support {

/// The numbers that follow `word` in `text`, each time that one does; nan and inf are some, 'information' is none.
inline std::vector<double> values_after(const std::string& word, const std::string& text) {
  std::vector<double> values;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const char* begin = text.c_str() + at + word.size();
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    if (end == begin) continue;
    if (std::isfinite(value) || std::isalpha(static_cast<unsigned char>(*end)) == 0) values.push_back(value);
  }
  return values;
}

/// The last of them; where there is none, it throws.
inline double last_value(const std::string& word, const std::string& text) {
  const auto values = values_after(word, text);
  if (values.empty()) throw std::runtime_error("No number follows '" + word + "' in this text:\n" + text);
  return values.back();
}

}  // namespace lockstep::testing_support
