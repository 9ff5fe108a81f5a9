#include "planner/one_host/relative_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {

namespace {

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The prices, 0 or above, by which the sum over the columns comes nearest to 1 in every row, by least squares with a
/// weight a row.
std::vector<double> nonnegative_least_squares(const Amounts& rows, const std::vector<double>& weights) {
  const std::size_t costs = rows.front().size();
  Amounts products(costs, std::vector<double>(costs));
  std::vector<double> targets(costs);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < costs; ++i) {
      targets[i] += weights[r] * rows[r][i];
      for (std::size_t j = 0; j < costs; ++j) products[i][j] += weights[r] * rows[r][i] * rows[r][j];
    }
  }
  // Coordinate descent with every price held at 0 or above; convex, so it ends at the best one.
  std::vector<double> found(costs);
  constexpr int kRounds = 200000;
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (std::size_t i = 0; i < costs; ++i) {
      if (products[i][i] <= 0) continue;
      const double slope = targets[i] - product(products[i], found);
      const double next = std::max(0.0, found[i] + slope / products[i][i]);
      moved = std::max(moved, std::abs(next - found[i]));
      found[i] = next;
    }
    if (moved < 1e-12) break;
  }
  return found;
}

}  // namespace

std::vector<double> fit_relative(const Amounts& amounts, const std::vector<double>& totals) {
  if (amounts.empty()) return {};
  Amounts rows = amounts;  // of the share that each cost has in the total: the errors are relative
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (double& amount : rows[r]) amount /= totals[r];
  }
  std::vector<double> scale(rows.front().size());  // so that costs of very different size are found equally well
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::max(scale[i], row[i]);
  }
  for (auto& row : rows) {
    for (std::size_t i = 0; i < scale.size(); ++i) row[i] = scale[i] > 0 ? row[i] / scale[i] : 0;
  }
  constexpr int kReweighted = 12;
  constexpr double kSmallError = 0.2;
  std::vector<double> weights(rows.size(), 1);
  std::vector<double> found;
  for (int round = 0; round < kReweighted; ++round) {
    found = nonnegative_least_squares(rows, weights);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      weights[r] = kSmallError / std::max(kSmallError, std::abs(product(rows[r], found) - 1));
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = scale[i] > 0 ? found[i] / scale[i] : 0;
  return found;
}

}  // namespace lockstep
