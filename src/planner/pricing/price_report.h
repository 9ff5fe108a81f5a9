#pragma once

#include "planner/pricing/sweep.h"

#include <string>
#include <vector>

namespace lockstep {

/// Everything that `lockstep price` says.
struct PriceReport {
  PriceRequest request;
  PricedNetwork network;
  std::vector<Price> prices;
  std::vector<Sweep> sweeps;  ///< where several algorithms are compared
};

/// Tables for people; with `each_link`, every link's use besides.
std::string price_table(const PriceReport& report, bool each_link);

/// One object for programs; docs/guide/cost.md lists its keys.
std::string price_json(const PriceReport& report);

}  // namespace lockstep
