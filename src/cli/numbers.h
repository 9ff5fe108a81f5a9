#pragma once

#include "base/refuse.h"

#include <optional>
#include <string>

namespace lockstep::cli {

/// A whole number from `least` to `most`; none if the text is no such number.
std::optional<int> parse_between(const std::string& text, int least, int most);

/// `parse` of what was typed behind `option`. Throws Error (kInvalidArgument) that names the option before what `parse`
/// says.
template <class Parse>
auto parse_value(const char* option, const std::string& text, const Parse& parse) {
  try {
    return parse(text);
  } catch (const Error& error) {
    refuse(std::string(option) + ": " + error.what());
  }
}
/// The value of -n. Throws Error (kInvalidArgument) that repeats the text.
int parse_ranks(const std::string& text);
/// The value of `option`, from 1 up. Throws Error (kInvalidArgument) that repeats the text.
int parse_count(const char* option, const std::string& text);
/// The value of --local-size, ranks on a host, from 1 to `most`. Throws Error (kInvalidArgument).
int parse_local_size(const std::string& text, int most);
/// The value of --root, one of so many ranks. Throws Error (kInvalidArgument) that repeats the text.
int parse_root(const std::string& text, int ranks);

}  // namespace lockstep::cli
