// The tables of docs/guide/cost.md against the JSON that they describe.
#include "planner/calibration/calibration_for_tests.h"
#include "planner/pricing/price_report.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace lockstep::cost {

namespace {

/// Names in backticks.
struct Documented {
  std::set<std::string> keys;   ///< of the tables' first column, without the dots and brackets of where they stand
  std::set<std::string> names;  ///< of all columns
};

void add_names(const std::string& text, std::set<std::string>& names) {
  static const std::regex kName("`[.]?([a-z_]+)(\\[\\])?`");
  for (std::sregex_iterator found(text.begin(), text.end(), kName), end; found != end; ++found) {
    names.insert((*found)[1]);
  }
}

/// Of the table that comes after this heading.
Documented documented_after(const std::string& heading) {
  std::ifstream page(std::string(LOCKSTEP_SOURCE_DIR) + "/docs/guide/cost.md");
  Documented documented;
  std::string line;
  while (std::getline(page, line) && line != heading) continue;
  while (std::getline(page, line) && !line.starts_with("## ")) {
    if (!line.starts_with("| `")) continue;
    add_names(line.substr(0, line.find(" | ")), documented.keys);
    add_names(line, documented.names);
  }
  return documented;
}

/// Those of what is in it too; `is_map`: its own are names of links or algorithms, or numbers of ranks.
void add_keys(const nlohmann::json& json, std::set<std::string>& keys, bool is_map = false) {
  static const std::set<std::string> kMaps{"link_use", "links", "seconds", "selections", "sources"};
  for (const auto& [key, value] : json.items()) {
    if (json.is_object() && !is_map) keys.insert(key);
    if (value.is_structured()) add_keys(value, keys, json.is_object() && kMaps.contains(key));
  }
}

void expect_documented(const std::set<std::string>& keys, const Documented& documented) {
  EXPECT_FALSE(keys.empty());
  for (const std::string& key : keys) EXPECT_TRUE(documented.names.contains(key)) << key << " is not documented";
  for (const std::string& key : documented.keys) EXPECT_TRUE(keys.contains(key)) << key << " is no key";
}

nlohmann::json priced(const PriceRequest& request, const PricedNetwork& network) {
  PriceReport report{request, network, {}, {}};
  const std::vector<std::string> names{"ring", "tree"};
  for (const std::string& name : names) report.prices.push_back(price_algorithm(name, request, network));
  for (const Sweep::Axis axis : {Sweep::Axis::kBytes, Sweep::Axis::kRanks}) {
    report.sweeps.push_back(sweep(axis, names, request, network, report.prices));
  }
  return nlohmann::json::parse(price_json(report));
}

}  // namespace

TEST(CostGuide, ListsTheKeysOfAPrice) {
  std::set<std::string> keys;
  add_keys(priced({.ranks = 6, .bytes = 1e6}, {.flat = FlatCost{.alpha_s = 1e-6, .beta_s = 1e-9}, .description = {}}),
           keys);
  expect_documented(keys, documented_after("## The keys of `lockstep price --format json`"));
}

TEST(CostGuide, ListsTheKeysOfACalibration) {
  Calibration calibration = calibration_with(1e-6, 1e-10, 1e-10);
  calibration.selections[2] = Selection::parse("all_reduce: ring", "a test");
  std::set<std::string> keys;
  add_keys(nlohmann::json::parse(to_json(calibration)), keys);
  expect_documented(keys, documented_after("## What is measured"));
}

}  // namespace lockstep::cost
