#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::cli {

/// Each subcommand is a file that adds itself to the program: its options, and a callback that calls into the library
/// and sets `exit_code` where it is not 0. Errors leave the callback as lockstep::Error; main prints them.
struct Program {
  CLI::App app{"Lockstep: data-parallel training for C++", "lockstep"};
  int exit_code = 0;
  std::vector<std::string> words;  ///< what was typed after the program's name
};

void add_show(Program& program);
void add_prove(Program& program);
void add_price(Program& program);
void add_run(Program& program);
void add_train(Program& program);
void add_lab(Program& program);
void add_calibrate(Program& program);
void add_info(Program& program);
void add_bench(Program& program);

/// How many of the words are lockstep's own: what follows "--", and the program of `lockstep run`, are not.
std::size_t own_words(const CLI::App& app, const std::vector<std::string>& words);

/// The words without the "--" that may stand before the program of `lockstep run`: CLI11 takes it for that command's
/// end.
std::vector<std::string> without_separator(const CLI::App& app, std::vector<std::string> words);

}  // namespace lockstep::cli
