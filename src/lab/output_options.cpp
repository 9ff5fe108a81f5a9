#include "lab/output_options.h"

#include "lab/require.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace lockstep::lab {

namespace fs = std::filesystem;

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

void make_folder(const OutputOptions& options) {
  const fs::path folder = options.folder();
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(folder.c_str(), W_OK) != 0) error = std::error_code(errno, std::generic_category());
  require(!error,
          fmt::format("--out {} cannot be written: {}; name another folder.", folder.string(), error.message()));
}

}  // namespace lockstep::lab
