#include "lab/output_options.h"

#include "lab/require.h"
#include "report/writable.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <system_error>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

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
  group.add_flag("--check", options.check,
                 "Read flags and input, say what is wrong with them, train nothing and write nothing");
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
