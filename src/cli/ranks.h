#pragma once

#include <string>

namespace lockstep::cli {

/// The value of -n; empty means one rank for each core that this process may use. Throws Error (kInvalidArgument) that
/// repeats the text.
int parse_ranks(const std::string& text);

}  // namespace lockstep::cli
