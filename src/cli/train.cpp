#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/schedule_argument.h"
#include "cli/training_program.h"
#include "launch/launcher.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::cli {

namespace {

constexpr int kUsageError =
    2;  // what lockstep-train exits with when it has said what is wrong with its options or input

bool asks_for_help(const std::string& argument) { return argument == "--help" || argument == "-h"; }

/// `arguments` are WHAT and all that the training itself gets.
void check_arguments(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) {
    throw Error(ErrorCode::kInvalidArgument,
                "`lockstep train` needs to know what to train, as in: lockstep train text -n 2");
  }
  check_training(arguments.front());
}

/// The training's help, which knows nothing of -n: that is ours.
int show_help(LaunchOptions launch_options) {
  launch_options.ranks = 1;
  const int code = launch(launch_options);
  write_output("", "\n`lockstep train` itself takes -n N: how many processes train together (default: 1).\n");
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
      "  text    a GPT on characters or bytes of text\n"
      "  sst2    DistilBERT that tells whether film reviews are positive\n"
      "  digits  a convolutional network that reads handwritten digits\n"
      "`lockstep train WHAT --help` shows the options of each.");
  command->set_help_flag();  // --help after WHAT is the training's
  command->allow_extras();
  command->callback([&program, command, ranks] {
    const std::vector<std::string> arguments = command->remaining();
    if (!arguments.empty() && asks_for_help(arguments.front())) {
      write_output("", command->help());
      return;
    }
    check_arguments(arguments);
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
