#include "lab/usage.h"

#include "base/nearest.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::lab {

namespace {

/// With those of its groups.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::App* group : command.get_subcommands([](const CLI::App* app) { return app->get_name().empty(); })) {
    for (const CLI::Option* option : options_of(*group)) options.push_back(option);
  }
  return options;
}

std::string unknown_option(const CLI::App& command, const std::string& typed) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command)) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : command.remaining(/*recurse=*/true)) {
    const bool is_option = word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
    if (!is_option) continue;
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("`{}` has no option {}. {}", typed, name,
                       suggestion(name, std::vector<std::string_view>(names.begin(), names.end())));
  }
  return "";
}

template <class Number>
bool holds(const CLI::Option& option) {
  try {
    option.as<Number>();
    return true;
  } catch (const CLI::ConversionError&) {
    return false;
  }
}

/// Whether the text, which is a whole number, is one of Number's.
template <class Number>
bool fits(const std::string& text) {
  errno = 0;
  if constexpr (std::numeric_limits<Number>::is_signed) {
    const auto number = std::strtoll(text.c_str(), nullptr, 0);
    return errno == 0 && std::in_range<Number>(number);
  }
  (void)std::strtoull(text.c_str(), nullptr, 0);
  return errno == 0 && text.find('-') == std::string::npos;
}

template <class Number>
std::string range_of() {
  return fmt::format("a whole number from {} to {}", std::numeric_limits<Number>::min(),
                     std::numeric_limits<Number>::max());
}

/// CLI11 reads 010 as 8 and 0x10 as 16, which nobody means or expects who types a size of a batch.
bool is_not_decimal(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text.front() == '0';
}

/// What the option takes, where it was given something else; empty where it was not.
std::string wanted_instead(const CLI::Option& option, bool is_narrow) {
  const std::string type = option.get_type_name();
  const std::string& text = option.results().back();
  const bool is_whole = type.starts_with("INT") || type.starts_with("UINT");
  if (is_whole && is_not_decimal(text)) return "a whole number in decimal, without zeros before it";
  if (type.starts_with("INT")) {
    if (!holds<std::int64_t>(option)) return "a whole number";
    if (!fits<std::int64_t>(text)) return range_of<std::int64_t>();
    if (is_narrow && !fits<std::int32_t>(text)) return range_of<std::int32_t>();
  }
  if (type.starts_with("UINT")) {
    if (!holds<std::uint64_t>(option)) return "a whole number, 0 or more";
    if (!fits<std::uint64_t>(text)) return range_of<std::uint64_t>();
  }
  if (type.starts_with("FLOAT") && !holds<double>(option)) return "a number";
  return "";
}

/// `refused`: what the parser says of the one that it did not take, if it was the parser.
std::string wrong_number(const CLI::App& command, std::string_view refused) {
  for (const CLI::Option* option : options_of(command)) {
    if (option->count() == 0) continue;
    const bool is_refused = refused.find(option->get_name() + " = ") != std::string_view::npos;
    const std::string wanted = wanted_instead(*option, is_refused);
    if (wanted.empty()) continue;
    return fmt::format("{} takes {}; '{}' is not one.", option->get_name(), wanted, option->results().back());
  }
  return "";
}

}  // namespace

void require_numbers_that_fit(const CLI::App& command) {
  const std::string sentence = wrong_number(command, "");
  if (!sentence.empty()) throw CLI::ConversionError(sentence);
}

std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error, const std::string& typed) {
  std::string sentence;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) sentence = unknown_option(command, typed);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) sentence = wrong_number(command, error.what());
  if (!sentence.empty()) return sentence;
  sentence = error.what();
  return sentence.empty() || sentence.back() == '.' ? sentence : sentence + ".";
}

}  // namespace lockstep::lab
