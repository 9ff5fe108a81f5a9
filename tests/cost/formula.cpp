#include "tests/cost/formula.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace lockstep::cost {

namespace {

class Parser {
 public:
  Parser(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}

  double whole() {
    const double value = sum();
    if (peek() != '\0') fail("something is left at its end");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error("'" + std::string(text_) + "' is no formula: " + reason);
  }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  double sum() {
    double value = product();
    while (true) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = power();
    while (true) {
      if (take('*')) {
        value *= power();
      } else if (take('/')) {
        value /= power();
      } else {
        return value;
      }
    }
  }

  double power() {
    const double value = atom();
    return take('^') ? std::pow(value, power()) : value;
  }

  double atom() {
    if (take('(')) {
      const double value = sum();
      if (!take(')')) fail("a parenthesis is not closed");
      return value;
    }
    const char first = peek();
    const std::size_t begin = at_;
    if (std::isdigit(static_cast<unsigned char>(first)) != 0) {
      while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.'))
        ++at_;
      return std::strtod(std::string(text_.substr(begin, at_ - begin)).c_str(), nullptr);
    }
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (name.empty()) fail("a number or a name is missing");
    return take('(') ? call(name) : variable(name);
  }

  double variable(const std::string& name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) fail("there is no '" + name + "'");
    return found->second;
  }

  double call(const std::string& name) {
    std::vector<double> values{sum()};
    while (take(',')) values.push_back(sum());
    if (!take(')')) fail("a parenthesis is not closed");
    if (values.size() == 2 && name == "min") return std::min(values[0], values[1]);
    if (values.size() == 2 && name == "max") return std::max(values[0], values[1]);
    if (values.size() == 1 && name == "ceil") return std::ceil(values[0] - 1e-9);
    if (values.size() == 1 && name == "floor") return std::floor(values[0] + 1e-9);
    if (values.size() == 1 && name == "log2") return std::log2(values[0]);
    if (values.size() == 1 && name == "sqrt") return std::sqrt(values[0]);
    fail("there is no function '" + name + "' of so many values");
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

}  // namespace

double evaluate(std::string_view expression, const Variables& variables) {
  return Parser(expression, variables).whole();
}

}  // namespace lockstep::cost
