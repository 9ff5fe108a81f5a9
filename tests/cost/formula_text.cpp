#include "tests/cost/formula_text.h"

#include <cctype>
#include <cmath>
#include <regex>
#include <stdexcept>
#include <vector>

namespace lockstep::cost {

namespace {

constexpr std::string_view kUpTo = "up to ";

/// Numbers, names, and what else is not a space.
std::vector<std::string> tokens_of(const std::string& text) {
  static const std::regex kToken(R"([0-9][0-9.]*|[A-Za-z_][A-Za-z0-9_]*|[^ ])");
  return {std::sregex_token_iterator(text.begin(), text.end(), kToken), {}};
}

bool is_function(const std::string& token) {
  return token == "ceil" || token == "floor" || token == "log2" || token == "min" || token == "max";
}

bool is_value(const std::string& token) { return std::isalnum(static_cast<unsigned char>(token.front())) != 0; }

/// Takes each ", NAME = VALUE" out of the text.
void define(std::string& text, Variables& variables) {
  static const std::regex kDefinition(R"(, ([A-Za-z]+) = ((min\([^)]*\)|[^,;])+))");
  for (std::smatch found; std::regex_search(text, found, kDefinition);
       text.erase(static_cast<std::size_t>(found.position()), static_cast<std::size_t>(found.length()))) {
    variables[found[1]] = evaluate(with_products(found[2]), variables);
  }
}

}  // namespace

std::string with_products(const std::string& text) {
  std::string result;
  std::string last;
  for (const std::string& token : tokens_of(text)) {
    const bool is_after_value = !last.empty() && ((is_value(last) && !is_function(last)) || last == ")");
    if (is_after_value && (is_value(token) || token == "(")) result += '*';
    const bool opens = last == "log2" && token != "(";
    result += (opens ? "(" : "") + token + (opens ? ")" : "");
    last = token;
  }
  return result;
}

Range evaluate_text(std::string text, Variables variables) {
  static const std::regex kMore(
      "unless (.+) = ([^,]+), (?:up to (.+) more|(.+?) more(?:, and up to (.+) on top of that)?)");
  define(text, variables);
  const auto value = [&](const std::string& part) {
    return part.empty() ? 0 : evaluate(with_products(part), variables);
  };
  if (text.starts_with(kUpTo)) return {0, value(text.substr(kUpTo.size()))};
  const std::size_t end = text.find("; ");
  const double sum = value(text.substr(0, end));
  if (end == std::string::npos) return {sum, sum};
  const std::string rest = text.substr(end + 2);
  std::smatch more;
  if (!std::regex_match(rest, more, kMore)) throw std::runtime_error("'" + rest + "' says no more of a formula");
  if (std::abs(value(more[1]) - value(more[2])) < 1e-9) return {sum, sum};
  const double least = sum + value(more[4]);
  return {least, least + value(more[3]) + value(more[5])};
}

}  // namespace lockstep::cost
