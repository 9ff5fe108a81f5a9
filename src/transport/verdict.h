#pragma once

#include "transport/control_words.h"

#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace lockstep {

/// An error that `rank` had, as others are told of it: one that is about nobody is about that rank.
inline Error as_told_by(int rank, const Error& error) {
  if (error.peer() >= 0) return error;
  return {error.code(),
          "Rank " + std::to_string(rank) + " could not join the others: " + error.what(),
          {.rank = rank, .peer = rank}};
}

/// What rank 0 says to a rank that wants to join: that the job begins, or why it cannot. Goes over the wire as it is.
struct Verdict {
  std::uint32_t accepted = 0;
  std::int32_t code = 0;  ///< of the error
  std::int32_t peer = 0;  ///< that it is about
  std::array<char, 500> reason{};

  static Verdict yes() { return {.accepted = 1}; }
  static Verdict no(const Error& error) {
    Verdict verdict{.code = static_cast<std::int32_t>(error.code()), .peer = error.context().peer};
    const std::size_t bytes = std::min(std::strlen(error.what()), verdict.reason.size() - 1);
    std::memcpy(verdict.reason.data(), error.what(), bytes);
    return verdict;
  }

  /// Throws the Error that rank 0 had, as this rank's, unless it was accepted.
  void require_accepted(int rank) const {
    if (accepted == 1) return;
    const auto* const end = std::find(reason.begin(), reason.end(), '\0');
    throw Error(known_code(static_cast<std::uint32_t>(code)).value_or(ErrorCode::kMismatch),
                std::string(reason.begin(), end), {.rank = rank, .peer = peer});
  }
};

}  // namespace lockstep
