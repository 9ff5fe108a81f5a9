#include "base/nearest.h"
#include "base/refuse.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "launch/launcher.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::cli {

namespace {

struct RunOptions {
  std::string ranks;
  std::string log_dir;
  std::string grace = "5s";
  bool no_pin = false;
};

/// What stands behind our own options: the program and all that belongs to it, options of its own included.
std::vector<std::string> program_of(const CLI::App& command) {
  std::vector<std::string> program = command.remaining();
  if (program.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "`lockstep run` needs a program to run, as in: lockstep run -n 2 ./train");
  }
  if (program.front().starts_with('-')) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("`lockstep run` has no option {}. {}", program.front(),
                            suggestion(program.front(), {"-n", "--log-dir", "--no-pin", "--grace", "--help"})));
  }
  return program;
}

}  // namespace

std::size_t own_words(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front() != "run") {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), "--") - words.begin());
  }
  const CLI::App* command = app.get_subcommand("run");
  std::size_t i = 1;
  for (; i < words.size() && words[i].starts_with('-') && words[i] != "--"; ++i) {
    const CLI::Option* option = command->get_option_no_throw(words[i]);
    if (option != nullptr && option->get_items_expected_min() > 0) ++i;  // the next word is its value
  }
  return std::min(i, words.size());
}

std::vector<std::string> without_separator(const CLI::App& app, std::vector<std::string> words) {
  const std::size_t end = own_words(app, words);
  if (end == words.size() || words[end] != "--" || words.front() != "run") return words;
  if (end + 1 < words.size() && words[end + 1].starts_with('-')) {
    refuse(fmt::format("`lockstep run` needs a program behind --, and '{}' is none.", words[end + 1]));
  }
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(end));
  return words;
}

void add_run(Program& program) {
  CLI::App* command = program.app.add_subcommand("run", "Run a program as the ranks of a job on this host");
  auto options = std::make_shared<RunOptions>();
  command
      ->add_option("-n,--ranks", options->ranks,
                   "Processes to start (default: one for each core this process may use; at most 64 for each, or 256)")
      ->type_name("N");
  command->add_option("--log-dir", options->log_dir, "Also write what each rank prints to DIR/rank<i>.log")
      ->type_name("DIR");
  command->add_option("--grace", options->grace, "From SIGTERM to SIGKILL, when ranks are stopped (default: 5s)")
      ->type_name("TIME");
  command->add_flag("--no-pin", options->no_pin, "Do not bind each rank to its share of the cores");
  command->footer(
      "lockstep run [OPTIONS] [--] PROGRAM ARGS...\n\n"
      "Every rank gets torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, ...). The exit code is that of the rank "
      "that\n"
      "failed first, or 128 + its signal. Options stand before PROGRAM; all after it is the program's own.\n"
      "A rank's stdout is a pipe: what a program prints shows when it flushes, or has some KiB together, or ends.");
  command->prefix_command();
  command->callback([&program, command, options] {
    LaunchOptions launch_options;
    launch_options.command = program_of(*command);
    launch_options.ranks = options->ranks.empty() ? available_cpus().cores : parse_ranks(options->ranks);
    launch_options.pin = !options->no_pin;
    launch_options.grace =
        std::chrono::duration_cast<std::chrono::milliseconds>(parse_value("--grace", options->grace, parse_duration));
    if (!options->log_dir.empty()) launch_options.log_dir = options->log_dir;
    program.exit_code = launch(launch_options);
  });
}

}  // namespace lockstep::cli
