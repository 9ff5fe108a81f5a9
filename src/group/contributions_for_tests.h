#pragma once

#include <lockstep/types.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// Element i of rank r's contribution: small whole numbers, exact in every type and in any order of summing.
inline int contribution(int rank, std::size_t i) {
  return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 3) % 5) + 1;
}

inline double expected(ReduceOp op, int ranks, std::size_t i) {
  double result = contribution(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const double value = contribution(rank, i);
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kMean: result += value; break;
      case ReduceOp::kMin: result = std::min(result, value); break;
      case ReduceOp::kMax: result = std::max(result, value); break;
      case ReduceOp::kProduct: result *= value; break;
    }
  }
  return op == ReduceOp::kMean ? result / ranks : result;
}

inline std::string case_name(std::string_view algorithm, int ranks, std::size_t count) {
  return std::string(algorithm) + " ranks " + std::to_string(ranks) + " count " + std::to_string(count);
}

}  // namespace lockstep
