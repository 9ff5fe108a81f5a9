#include "base/nearest.h"
#include "cli/command.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
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

/// What is wrong, in one sentence, with the nearest right word where a word is wrong. CLI11 says the rest.
std::string explain(const Program& program, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const auto chosen = program.app.get_subcommands();
  if (chosen.empty() && !words.empty() && words.front()[0] != '-') {
    std::vector<std::string> names;
    for (const CLI::App* command : program.app.get_subcommands(nullptr)) names.push_back(command->get_name());
    return fmt::format("There is no command '{}'. {}", words.front(), nearest_of(words.front(), names));
  }
  const CLI::App& command = chosen.empty() ? program.app : *chosen.front();
  const std::vector<std::string> names = option_names(command);
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
    const bool may_be_unknown = chosen.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    if (!may_be_unknown || is_known || !name.starts_with("--")) continue;
    return fmt::format("`{}` has no option {}. {}", command.get_display_name(), name, nearest_of(name, names));
  }
  const std::string text = error.what();
  return text.empty() || text.back() == '.' ? text : text + ".";
}

int usage_error(const Program& program, const CLI::ParseError& error) {
  if (program.words.empty()) {
    fmt::print(stderr, "{}", program.app.help());
  } else {
    fmt::print(stderr, "lockstep: {}\n", explain(program, error, program.words));
  }
  return kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
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
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return program.app.exit(help);
  } catch (const CLI::ParseError& error) {
    return usage_error(program, error);
  } catch (const lockstep::Error& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return error.code() == lockstep::ErrorCode::kInvalidArgument ? kUsageError : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return 1;
  }
  return program.exit_code;
}
