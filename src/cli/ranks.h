#pragma once

#include <string>

namespace lockstep::cli {

/// The value of -n. Throws Error (kInvalidArgument) that repeats the text.
int parse_ranks(const std::string& text);

}  // namespace lockstep::cli
