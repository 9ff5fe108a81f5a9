#include "report/writable.h"

#include <unistd.h>

#include <cerrno>

namespace lockstep {

namespace {

namespace fs = std::filesystem;

/// Why nothing can be written to what is there; none if it can.
std::error_code obstacle_at(const fs::path& there, int access) {
  return ::access(there.c_str(), access) == 0 ? std::error_code() : std::error_code(errno, std::generic_category());
}

/// The same for a folder that is not there yet, and however it is written; empty for none.
fs::path one_name_of(const fs::path& folder) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(folder, error) / "", error);
}

}  // namespace

std::error_code obstacle_of_folder(const fs::path& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) return std::make_error_code(std::errc::not_a_directory);
  return obstacle_at(there, W_OK | X_OK);
}

std::error_code obstacle_of_file(const fs::path& file, const fs::path& made) {
  std::error_code error;
  if (fs::is_directory(file, error)) return std::make_error_code(std::errc::is_a_directory);
  if (fs::exists(file, error)) return obstacle_at(file, W_OK);
  const fs::path folder = fs::absolute(file, error).parent_path();
  const bool is_made = one_name_of(folder) == one_name_of(made);
  if (!is_made && !fs::exists(folder, error)) return std::make_error_code(std::errc::no_such_file_or_directory);
  return obstacle_of_folder(folder);
}

std::error_code obstacle_of_replacing(const fs::path& file, const fs::path& made) {
  const std::error_code obstacle = obstacle_of_file(file, made);
  std::error_code error;
  if (obstacle || !fs::is_regular_file(file, error)) return obstacle;
  return obstacle_of_folder(fs::canonical(file, error).parent_path());
}

}  // namespace lockstep
