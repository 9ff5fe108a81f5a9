#include "cli/ranks.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <charconv>

namespace lockstep::cli {

namespace {

/// A whole number from 1 up; 0 for any other text.
int count_in(const std::string& text) {
  int count = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, count);
  return error == std::errc{} && parsed == end && count >= 1 ? count : 0;
}

}  // namespace

int parse_ranks(const std::string& text) {
  if (const int ranks = count_in(text)) return ranks;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("-n takes a number of ranks, a whole number from 1 up; '{}' is not one.", text));
}

int parse_local_size(const std::string& text, int most) {
  if (const int ranks = count_in(text); ranks != 0 && ranks <= most) return ranks;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("--local-size takes the number of ranks on a host, from 1 to {}; '{}' is not one.", most, text));
}

}  // namespace lockstep::cli
