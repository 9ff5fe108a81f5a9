#pragma once

#include <lockstep/error.h>

#include <string>

namespace lockstep {

/// Throws Error (kInvalidArgument) with `sentence`, which says what was given, where, and what to do.
[[noreturn]] inline void refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

}  // namespace lockstep
