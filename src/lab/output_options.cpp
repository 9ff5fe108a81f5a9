#include "lab/output_options.h"

#include "lab/require.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

/// Why nothing can be written to what is there; none if it can.
std::error_code obstacle_at(const fs::path& there, int access) {
  return ::access(there.c_str(), access) == 0 ? std::error_code() : std::error_code(errno, std::generic_category());
}

/// Why a folder cannot be written to, or made if it is not there; none if it can.
std::error_code obstacle_of_folder(const fs::path& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) return std::make_error_code(std::errc::not_a_directory);
  return obstacle_at(there, W_OK | X_OK);
}

/// The same of a file, whose folder must be there or be `made`.
std::error_code obstacle_of_file(const fs::path& file, const fs::path& made) {
  std::error_code error;
  if (fs::is_directory(file, error)) return std::make_error_code(std::errc::is_a_directory);
  if (fs::exists(file, error)) return obstacle_at(file, W_OK);
  const fs::path folder = fs::absolute(file, error).parent_path();
  const bool is_made = fs::weakly_canonical(folder, error) == fs::weakly_canonical(made, error);
  if (!is_made && !fs::exists(folder, error)) return std::make_error_code(std::errc::no_such_file_or_directory);
  return obstacle_of_folder(folder);
}

void require_none(const std::error_code& obstacle, const std::string& flag, const std::string& path) {
  require(!obstacle, fmt::format("{} {} cannot be written: {}; name another.", flag, path, obstacle.message()));
}

}  // namespace

std::int64_t OutputOptions::print_every(std::int64_t iterations) const {
  constexpr std::int64_t kLines = 50;
  return every > 0 ? every : std::max<std::int64_t>(1, iterations / kLines);
}

void add_output_flags(CLI::Option_group& group, OutputOptions& options) {
  group.add_option("--out", options.out, "Folder for checkpoints, report and trace")->capture_default_str();
  group.add_option("--every", options.every, "Print each n-th iteration [about fifty of them]");
  group.add_option("--jsonl", options.jsonl, "File for one JSON object an iteration");
  group.add_option("--tensorboard", options.tensorboard, "Folder for TensorBoard's event files");
  group.add_flag("--log-sync", options.log_sync, "Print every bucket: parameters, bytes, algorithm, time");
}

void validate(const OutputOptions& options) { require_at_least(0, options.every, "--every"); }

void require_writable(const OutputOptions& options) {
  require_none(obstacle_of_folder(options.folder()), "--out", options.out);
  if (!options.jsonl.empty()) {
    require_none(obstacle_of_file(options.jsonl, options.folder()), "--jsonl", options.jsonl);
  }
  if (!options.tensorboard.empty()) {
    require_none(obstacle_of_folder(options.tensorboard), "--tensorboard", options.tensorboard);
  }
}

void make_folder(const OutputOptions& options) {
  std::error_code error;
  fs::create_directories(options.folder(), error);
  require_none(error ? error : obstacle_of_folder(options.folder()), "--out", options.out);
}

}  // namespace lockstep::lab
