#include "base/nearest.h"
#include "cli/command.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <cstdio>
#include <string_view>
#include <vector>

namespace {

using lockstep::cli::Program;

constexpr int kUsageError = 2;

/// CLI11 says what is wrong; we add the nearest right word where a subcommand was meant.
int usage_error(const Program& program, const CLI::ParseError& error, int argc, char** argv) {
  std::string text = error.what();
  if (argc > 1 && argv[1][0] != '-' && program.app.get_subcommands().empty()) {
    std::vector<std::string_view> names;
    for (const CLI::App* command : program.app.get_subcommands(nullptr)) names.emplace_back(command->get_name());
    text = fmt::format("There is no command '{}'. {}", argv[1], lockstep::suggestion(argv[1], names));
  }
  fmt::print(stderr, "lockstep: {}\n", text);
  return kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
  Program program;
  program.app.require_subcommand(1);
  add_run(program);
  add_train(program);
  add_show(program);
  add_prove(program);
  add_info(program);
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return program.app.exit(help);
  } catch (const CLI::ParseError& error) {
    return usage_error(program, error, argc, argv);
  } catch (const lockstep::Error& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return error.code() == lockstep::ErrorCode::kInvalidArgument ? kUsageError : 1;
  }
  return program.exit_code;
}
