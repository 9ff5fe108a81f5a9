#pragma once

#include <lockstep/error.h>

#include <string>

namespace lockstep::cli {

/// Refuses what was typed, with exit code 2; `sentence` says what, where, and what to do.
[[noreturn]] inline void bad_usage(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

}  // namespace lockstep::cli
