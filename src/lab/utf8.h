#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::lab {

/// Bytes of the well-formed UTF-8 sequence that starts at `position` (1 to 4); 0 if none does. As Unicode 15, table
/// 3-7.
std::size_t utf8_length(std::string_view text, std::size_t position);

/// The text as it can be shown: what is not UTF-8, and control characters other than newline and tab, become U+FFFD.
std::string printable(std::string_view text);

}  // namespace lockstep::lab
