#pragma once

#include <CLI/CLI.hpp>

#include <iostream>
#include <optional>

namespace lockstep {

/// Reads what was typed into the options of `app`. Where nothing is to be done then, what to exit with: 0 where help
/// was asked for, which is shown; 2 for wrong usage, which a sentence after `name` tells, as of `lockstep` (CLI11's own
/// number would say which of its errors it was).
inline std::optional<int> read_arguments(CLI::App& app, const char* name, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::cerr << name << ": " << error.what() << ".\n";
    return 2;
  }
}

}  // namespace lockstep
