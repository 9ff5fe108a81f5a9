#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace lockstep::lab {

/// Throws CLI::ConversionError for a whole number that its option cannot hold: CLI11 takes the one that comes nearest,
/// and where none is below 0, some 2^64 for -1. And for one that CLI11 takes for octal or hexadecimal.
void require_numbers_that_fit(const CLI::App& command);

/// What is wrong with a command line that `command` did not take, as a sentence: an option that there is not, with the
/// nearest one; a value that is no number, or too large a one; all else in CLI11's words. `typed` is how people call
/// the command.
std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error, const std::string& typed);

}  // namespace lockstep::lab
