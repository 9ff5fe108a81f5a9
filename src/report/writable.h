#pragma once

#include <filesystem>
#include <system_error>

namespace lockstep {

// Whether what is to be written at the end can be, before anything is made.

/// Why nothing can be written to a folder, or it cannot be made where it is not there; none if it can.
std::error_code obstacle_of_folder(const std::filesystem::path& folder);

/// The same of a file, whose folder must be there or be `made`.
std::error_code obstacle_of_file(const std::filesystem::path& file, const std::filesystem::path& made);
/// The same where another file takes the place of one that is there (base/atomic_file.h): that happens in its folder.
std::error_code obstacle_of_replacing(const std::filesystem::path& file, const std::filesystem::path& made);

}  // namespace lockstep
