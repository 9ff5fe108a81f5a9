#pragma once

#include <string>

namespace lockstep::cli {

/// The value of -n. Throws Error (kInvalidArgument) that repeats the text.
int parse_ranks(const std::string& text);
/// The value of --local-size, ranks on a host, from 1 to `most`. Throws Error (kInvalidArgument).
int parse_local_size(const std::string& text, int most);

}  // namespace lockstep::cli
