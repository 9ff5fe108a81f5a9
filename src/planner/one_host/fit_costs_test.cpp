#include "planner/one_host/fit_costs.h"

#include "planner/one_host/host_costs.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

HostCosts operations(double amount) {
  HostCosts costs;
  costs[HostCosts::kOperation] = amount;
  return costs;
}

}  // namespace

/// From 1 on the price makes four times the work, by which it falls to 1/4, by which it rises to 1.
TEST(FitCosts, OfPricesThatDoNotSettleTheBestCount) {
  const std::vector<Sample> samples{{.seconds = 1}};
  const auto work_of = [](const Sample&, const HostCosts& prices) {
    return operations(prices[HostCosts::kOperation] < 1 ? 1 : 4);
  };
  for (const double guess : {0.1, 2.0})
    EXPECT_NEAR(fit_costs(operations(guess), samples, work_of)[HostCosts::kOperation], 0.25, 1e-9) << guess;
}

}  // namespace lockstep
