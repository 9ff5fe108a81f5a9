#pragma once

#include "tests/cost/formula.h"

#include <string>

namespace lockstep::cost {

/// "2*(p-1)*(alpha + n/p*beta)" for "2(p-1)(alpha + n/p beta)", and "log2(p)" for "log2 p": what evaluate() takes for
/// what people write.
std::string with_products(const std::string& text);

/// Between which values a cost lies; they are equal where the text says it exactly.
struct Range {
  double least = 0;
  double most = 0;
};

/// The value of a formula as people write it, with what may follow it:
///   SUM[, NAME = VALUE]...[; unless NUMBER = POWER, [SUM more[, and up to SUM on top of that] | up to SUM more]]
///   up to SUM
/// Throws std::runtime_error as evaluate() does.
Range evaluate_text(std::string text, Variables variables);

}  // namespace lockstep::cost
