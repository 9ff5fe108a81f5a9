#pragma once

#include <optional>
#include <string>

namespace lockstep {

/// The file that a shell would run for `name`: itself if it holds a slash, else the first executable along PATH.
/// Throws Error (kInvalidArgument) that says what is wrong with it (no such file, a folder, not executable) and what to
/// do.
std::string find_program(const std::string& name);

/// The program that runs. Throws Error (kUnsupported) where the system does not tell.
std::string this_program();

/// The first executable file of that name along PATH.
std::optional<std::string> find_in_path(const std::string& name);

/// Why the system refused to run `path`, which find_program had found, as a sentence. `error` is exec's errno.
std::string explain_exec_failure(const std::string& path, int error);

}  // namespace lockstep
