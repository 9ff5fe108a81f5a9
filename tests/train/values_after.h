#pragma once

#include <string>
#include <vector>

namespace lockstep::testing_support {

/// The numbers that follow each `word` in `text`.
inline std::vector<double> values_after(const std::string& word, const std::string& text) {
  std::vector<double> values;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    values.push_back(std::stod(text.substr(at + word.size())));
  }
  return values;
}

}  // namespace lockstep::testing_support
