#include "base/folded.h"

#include <sstream>

namespace lockstep {

std::vector<std::string> folded(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > columns) {
      lines.push_back(word);
    } else {
      lines.back() += ' ' + word;
    }
  }
  return lines;
}

std::string folded(std::string_view text, std::size_t columns, std::string_view indent) {
  std::string all;
  for (const std::string& line : folded(text, columns - indent.size())) {
    if (!all.empty()) all.append("\n").append(indent);
    all += line;
  }
  return all;
}

}  // namespace lockstep
