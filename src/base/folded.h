#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The words of a text in lines of at most so many characters; a longer word has a line of its own.
std::vector<std::string> folded(std::string_view text, std::size_t columns);

/// The same as one text, each line but the first behind `indent`, which counts.
std::string folded(std::string_view text, std::size_t columns, std::string_view indent);

}  // namespace lockstep
