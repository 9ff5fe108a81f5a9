#include "cli/ranks.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <charconv>

namespace lockstep::cli {

int parse_ranks(const std::string& text) {
  int ranks = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, ranks);
  if (error != std::errc{} || parsed != end || ranks < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("-n takes a number of ranks, a whole number from 1 up; '{}' is not one.", text));
  }
  return ranks;
}

}  // namespace lockstep::cli
