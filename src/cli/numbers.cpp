#include "cli/numbers.h"

#include "base/refuse.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace lockstep::cli {

std::optional<int> parse_between(const std::string& text, int least, int most) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || parsed != end || number < least || number > most) return std::nullopt;
  return number;
}

int parse_ranks(const std::string& text) {
  if (const auto ranks = parse_between(text, 1, std::numeric_limits<int>::max())) return *ranks;
  refuse(fmt::format("-n takes a number of ranks, a whole number from 1 to {}; '{}' is not one.",
                     std::numeric_limits<int>::max(), text));
}

int parse_count(const char* option, const std::string& text) {
  if (const auto count = parse_between(text, 1, std::numeric_limits<int>::max())) return *count;
  refuse(fmt::format("{} takes a whole number from 1 to {}; '{}' is not one.", option, std::numeric_limits<int>::max(),
                     text));
}

int parse_local_size(const std::string& text, int most) {
  if (const auto ranks = parse_between(text, 1, most)) return *ranks;
  refuse(fmt::format("--local-size takes the number of ranks on a host, from 1 to {}; '{}' is not one.", most, text));
}

int parse_root(const std::string& text, int ranks) {
  if (const auto root = parse_between(text, 0, ranks - 1)) return *root;
  refuse(fmt::format("--root takes a rank from 0 to {}; '{}' is not one.", ranks - 1, text));
}

}  // namespace lockstep::cli
