#pragma once

#include <c10/util/Exception.h>
#include <lockstep/error.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

/// What these programs return from `main` for an exception, of which they say one sentence: 2 where they were asked for
/// something that is not to be had, 1 for all else.
inline int failed(const std::exception& error) {
  std::string text = error.what();
  if (const auto* of_torch = dynamic_cast<const c10::Error*>(&error)) {
    text = of_torch->what_without_backtrace();
    text.resize(std::min(text.find('\n'), text.size()));
  }
  std::fprintf(stderr, "%s\n", text.c_str());
  const auto* ours = dynamic_cast<const lockstep::Error*>(&error);
  return ours != nullptr && ours->code() == lockstep::ErrorCode::kInvalidArgument ? 2 : 1;
}

[[noreturn]] inline void refuse(const std::string& sentence) {
  throw lockstep::Error(lockstep::ErrorCode::kInvalidArgument, sentence);
}

/// The words behind the program's name, `least` to `most` of them, which `usage` names. --help prints that, and ends
/// the program.
inline std::vector<std::string> arguments(int argc, char** argv, const std::string& usage = "", std::size_t least = 0,
                                          std::size_t most = 0) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string how = "usage: " + std::filesystem::path(argv[0]).filename().string();
  if (!usage.empty()) how += " " + usage;
  for (const auto& word : words) {
    if (word == "--help" || word == "-h") {
      std::printf("%s\n", how.c_str());
      std::exit(0);
    }
    if (word.rfind("--", 0) == 0) refuse("There is no option '" + word + "'; " + how);
  }
  if (words.size() < least) refuse("Something is missing; " + how);
  if (words.size() > most) refuse("'" + words[most] + "' is one word too many; " + how);
  return words;
}

/// `word`, which must be one of these; `what` says what they name.
inline std::string one_of(const std::string& word, const std::vector<std::string>& known, const char* what = "word") {
  std::string names;
  for (const auto& name : known) {
    if (word == name) return word;
    names += (names.empty() ? "" : ", ") + name;
  }
  refuse("There is no " + std::string(what) + " '" + word + "'; there are " + names + ".");
}

/// The number that `word`, the argument called `what`, must be.
inline std::int64_t whole_number(const std::string& word, const char* what, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, problem] = std::from_chars(word.data(), end, number);
  if (problem == std::errc() && rest == end && number >= least && number <= most) return number;
  refuse(std::string(what) + " is '" + word + "'; it takes a whole number from " + std::to_string(least) + " to " +
         std::to_string(most) + ".");
}
