#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace lockstep {

/// The variables that this project reads of its own; `lockstep info` prints them.
inline constexpr const char* kJobVariable = "LOCKSTEP_JOB";          ///< identity of the job, made by the launcher
inline constexpr const char* kTimeoutVariable = "LOCKSTEP_TIMEOUT";  ///< how long an operation waits ("10min")
inline constexpr const char* kJoinTimeoutVariable =
    "LOCKSTEP_JOIN_TIMEOUT";  ///< how long ranks wait for each other at start
inline constexpr const char* kAlgorithmVariable = "LOCKSTEP_ALGORITHM";  ///< what "auto" stands for

/// A variable's value; none if unset or empty.
std::optional<std::string> environment(const char* name);
/// The value `text` of the variable `name` as a whole number. Throws Error (kInvalidArgument) naming both.
int whole_number(const char* name, const std::string& text);
/// A duration ("10s"), `fallback` if unset. Throws Error (kInvalidArgument) naming the variable and its value.
std::chrono::milliseconds environment_duration(const char* name, std::chrono::milliseconds fallback);

}  // namespace lockstep
