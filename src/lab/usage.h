#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace lockstep::lab {

/// What is wrong with a command line that `command` did not take, as a sentence: an option that there is not, with the
/// nearest one; a value that is no number; all else in CLI11's words. `typed` is how people call the command.
std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error, const std::string& typed);

}  // namespace lockstep::lab
