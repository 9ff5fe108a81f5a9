#include "lab/usage.h"

#include "base/nearest.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <string_view>
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

std::string wrong_number(const CLI::App& command) {
  for (const CLI::Option* option : options_of(command)) {
    if (option->count() == 0) continue;
    const std::string type = option->get_type_name();
    const std::string& text = option->results().back();
    const auto refusal = [&](std::string_view kind) {
      return fmt::format("{} takes {}; '{}' is not one.", option->get_name(), kind, text);
    };
    if (type.starts_with("INT") && !holds<std::int64_t>(*option)) return refusal("a whole number");
    if (type.starts_with("UINT") && !holds<std::uint64_t>(*option)) {
      return refusal("a whole number, 0 or more");
    }
    if (type.starts_with("FLOAT") && !holds<double>(*option)) return refusal("a number");
  }
  return "";
}

}  // namespace

std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error, const std::string& typed) {
  std::string sentence;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) sentence = unknown_option(command, typed);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) sentence = wrong_number(command);
  if (!sentence.empty()) return sentence;
  sentence = error.what();
  return sentence.empty() || sentence.back() == '.' ? sentence : sentence + ".";
}

}  // namespace lockstep::lab
