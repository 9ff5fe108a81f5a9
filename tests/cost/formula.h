#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lockstep::cost {

using Variables = std::map<std::string, double, std::less<>>;

/// The value of "2*(p-1)*(alpha + n/p*beta)": numbers, names, + - * / ^, parentheses, and ceil, floor, log2, sqrt, min
/// and max of expressions. Throws std::runtime_error that repeats the text if it is none.
double evaluate(std::string_view expression, const Variables& variables);

}  // namespace lockstep::cost
