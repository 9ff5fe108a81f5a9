#include "base/nearest.h"
#include "cli/command.h"
#include "cli/ranks.h"
#include "launch/launcher.h"
#include "launch/program.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "lockstep-train";
constexpr int kUsageError =
    2;  // what lockstep-train exits with when it has said what is wrong with its options or input

bool asks_for_help(const std::string& argument) { return argument == "--help" || argument == "-h"; }

/// The program that holds the trainings: beside this one, where a package puts what only programs start, or along PATH.
std::string find_training_program() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& candidate : {folder / kProgram, folder / ".." / "libexec" / "lockstep" / kProgram}) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.lexically_normal().string();
  }
  if (const auto found = find_in_path(kProgram)) return *found;
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("The trainings are not in this build: there is no {} beside lockstep in {}, since it was built "
                  "without libtorch. Install libtorch and build again (LOCKSTEP_TRAIN=ON).",
                  kProgram, folder.string()));
}

/// `arguments` are WHAT and all that the training itself gets.
void check_training(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) {
    throw Error(ErrorCode::kInvalidArgument,
                "`lockstep train` needs to know what to train, as in: lockstep train text -n 2");
  }
  if (arguments.front() != "text") {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("There is no training '{}'. {}", arguments.front(),
                                                         suggestion(arguments.front(), {"text"})));
  }
}

/// The training's help, which knows nothing of -n: that is ours.
int show_help(LaunchOptions launch_options) {
  launch_options.ranks = 1;
  const int code = launch(launch_options);
  fmt::print("\n`lockstep train` itself takes -n N: how many processes train together (default: 1).\n");
  return code;
}

}  // namespace

void add_train(Program& program) {
  CLI::App* command = program.app.add_subcommand("train", "Run a ready-made training on the ranks of this host");
  auto ranks = std::make_shared<std::string>("1");
  command->add_option("-n,--ranks", *ranks, "Processes that train together (default: 1)")->type_name("N");
  command->footer(
      "lockstep train WHAT [-n N] [OPTIONS]\n\n"
      "Trainings:\n"
      "  text   a GPT on characters or bytes of text; `lockstep train text --help` shows its options");
  command->set_help_flag();  // --help after WHAT is the training's
  command->allow_extras();
  command->callback([&program, command, ranks] {
    const std::vector<std::string> arguments = command->remaining();
    if (!arguments.empty() && asks_for_help(arguments.front())) {
      fmt::print("{}", command->help());
      return;
    }
    check_training(arguments);
    LaunchOptions launch_options;
    launch_options.ranks = parse_ranks(*ranks);
    launch_options.pass_through_rank = 0;
    launch_options.quiet_exit_code = kUsageError;
    launch_options.command = {find_training_program()};
    launch_options.command.insert(launch_options.command.end(), arguments.begin(), arguments.end());
    const bool help = std::any_of(arguments.begin(), arguments.end(), asks_for_help);
    program.exit_code = help ? show_help(launch_options) : launch(launch_options);
  });
}

}  // namespace lockstep::cli
