#include "base/nearest.h"
#include "base/refuse.h"
#include "base/standard_streams.h"
#include "cli/command.h"
#include "cli/schedule_argument.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using lockstep::cli::Program;

constexpr int kUsageError = 2;

template <class Names>
std::string nearest_of(const std::string& word, const Names& names) {
  return lockstep::suggestion(word, std::vector<std::string_view>(names.begin(), names.end()));
}

/// The options of a command, as they are typed: "-n", "--ranks".
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// That a command which takes one of several was given none, or another word; empty where that is not what is wrong.
/// `words`: what was typed after it.
std::string missing_command(const CLI::App& command, std::span<const std::string> words) {
  if (command.get_require_subcommand_min() == 0 || (!words.empty() && words.front().starts_with("-"))) return {};
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands(nullptr)) names.push_back(one->get_name());
  if (!words.empty())
    return fmt::format("There is no command '{}'. {}", words.front(), nearest_of(words.front(), names));
  return fmt::format("`{}` takes one of: {}.", command.get_display_name(), fmt::join(names, ", "));
}

/// What is wrong, in one sentence, with the nearest right word where a word is wrong. CLI11 says the rest.
std::string explain(const Program& program, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const CLI::App* command = &program.app;
  std::size_t depth = 0;
  for (auto chosen = command->get_subcommands(); !chosen.empty(); chosen = command->get_subcommands(), ++depth)
    command = chosen.front();
  std::string missing = missing_command(*command, std::span(words).subspan(std::min(depth, words.size())));
  if (!missing.empty()) return missing;
  const std::vector<std::string> names = option_names(*command);
  for (const std::string& word : words) {
    if (word == "--") break;  // what follows are no options
    const std::string name = word.substr(0, word.find('='));
    const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
    const bool may_be_unknown = depth == 0 || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    if (!may_be_unknown || is_known || !name.starts_with("--")) continue;
    return fmt::format("`{}` has no option {}. {}", command->get_display_name(), name, nearest_of(name, names));
  }
  const std::string text = error.what();
  return text.empty() || text.back() == '.' ? text : text + ".";
}

int usage_error(const Program& program, const CLI::ParseError& error) {
  if (program.words.empty()) {
    lockstep::say_error(program.app.help());
  } else {
    lockstep::say_error(fmt::format("lockstep: {}\n", explain(program, error, program.words)));
  }
  return kUsageError;
}

/// An empty value is a variable of the shell that is not set, not an option that was left out.
void refuse_empty_values(CLI::App& app) {
  const auto is_given = [](const std::string& value) -> std::string {
    return value.empty() ? "it was given an empty value; give it another, or leave it out" : "";
  };
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    for (CLI::Option* option : command->get_options()) {
      if (option->nonpositional() && option->get_items_expected_min() > 0) option->check(is_given);
    }
    refuse_empty_values(*command);
  }
}

/// CLI11 takes the next word for the value of "--output=".
void refuse_values_left_out(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  const std::size_t end = lockstep::cli::own_words(app, words);
  std::size_t i = 0;
  for (; i < end && !words[i].starts_with('-'); ++i) {
    const auto named = command->get_subcommands([&](const CLI::App* one) { return one->get_name() == words[i]; });
    if (named.empty()) break;
    command = named.front();
  }
  for (; i < end; ++i) {
    if (!words[i].ends_with('=')) continue;
    const std::string name = words[i].substr(0, words[i].size() - 1);
    if (command->get_option_no_throw(name) == nullptr) continue;
    lockstep::refuse(fmt::format("{}: it was given an empty value; give it another, or leave it out.", name));
  }
}

/// Does what was typed; the exit code.
int run(Program& program) {
  try {
    refuse_values_left_out(program.app, program.words);
    std::vector<std::string> words = lockstep::cli::without_separator(program.app, program.words);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    program.app.parse(std::move(words));
    return program.exit_code;
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream answer;
    const int code = program.app.exit(asked, answer);
    lockstep::cli::write_output("", answer.str());
    return code;
  } catch (const CLI::ParseError& error) {
    return usage_error(program, error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::ensure_standard_descriptors();
  ::signal(SIGXFSZ, SIG_IGN);  // a file larger than allowed is an error to be said, not our end
  Program program;
  program.words.assign(argv + 1, argv + std::max(argc, 1));
  program.app.require_subcommand(1);
  program.app.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  add_run(program);
  add_train(program);
  add_lab(program);
  add_show(program);
  add_prove(program);
  add_price(program);
  add_calibrate(program);
  add_info(program);
  add_bench(program);
  refuse_empty_values(program.app);
  try {
    return run(program);
  } catch (const lockstep::Error& error) {
    lockstep::say_error(fmt::format("lockstep: {}\n", error.what()));
    return error.code() == lockstep::ErrorCode::kInvalidArgument ? kUsageError : 1;
  } catch (const std::exception& error) {
    lockstep::say_error(fmt::format("lockstep: {}\n", error.what()));
    return 1;
  }
}
