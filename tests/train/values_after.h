#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace lockstep::testing_support {

/// The numbers that follow `word` in `text`, each time that one does.
inline std::vector<double> values_after(const std::string& word, const std::string& text) {
  std::vector<double> values;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const char* begin = text.c_str() + at + word.size();
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    if (end != begin) values.push_back(value);
  }
  return values;
}

}  // namespace lockstep::testing_support
