#pragma once

#include "launch/outcome.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What the screen about a failure tells beside the outcome.
struct FailureContext {
  std::vector<std::string> command;
  std::chrono::milliseconds grace{};
  std::optional<std::filesystem::path> log_dir;
  bool colour = false;
};

/// Is there anything for people in this line of a rank's? Not in a blank one, nor in the frames of a stack, with which
/// libtorch ends the text of an exception, and which are more than are kept of a rank's lines.
bool says_something(std::string_view line);

/// One screen: who failed first and how, what may be behind it, its last lines, what became of the others, where to
/// read more. Empty if no rank failed by itself.
std::string describe_failure(const JobOutcome& job, const FailureContext& context);

/// Which ranks had to be killed when the job was interrupted, as a sentence; empty if none.
std::string describe_interruption(const JobOutcome& job);

}  // namespace lockstep
