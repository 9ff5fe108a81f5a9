#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/refuse.h"

namespace lockstep::lab {

/// Throws Error (kInvalidArgument) with `otherwise` unless `holds`.
inline void require(bool holds, const std::string& otherwise) {
  if (!holds) refuse(otherwise);
}

inline void require_at_least(std::int64_t least, std::int64_t value, std::string_view flag) {
  require(value >= least, fmt::format("{} must be at least {}, not {}.", flag, least, value));
}

/// A size; the upper limit keeps a slip of the finger from filling the machine's memory.
inline void require_size(std::int64_t value, std::string_view flag) {
  constexpr std::int64_t kLargest = 1'000'000;
  require_at_least(1, value, flag);
  require(value <= kLargest, fmt::format("{} must be at most {}, not {}.", flag, kLargest, value));
}

/// A finite number for which `in_range` holds, as `range` says it in words.
inline void require_number(bool in_range, double value, std::string_view flag, std::string_view range) {
  require(std::isfinite(value) && in_range, fmt::format("{} must be {}, not {}.", flag, range, value));
}

}  // namespace lockstep::lab
