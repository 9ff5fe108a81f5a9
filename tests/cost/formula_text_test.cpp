// What is written about costs beside the code: the text of each closed form is what it computes, and the comment of
// each algorithm is what its schedules cost.
//
// A comment begins with a line "// Cost...:"; then come lines "//   COLLECTIVE[, COLLECTIVE]...: FORMULA", of p ranks
// and n bytes, each continued by lines that begin with "//     ".
#include "tests/cost/formula_text.h"

#include "algorithms/catalog.h"
#include "planner/network/closed_form.h"
#include "planner/pricing/price.h"
#include "schedule/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <regex>
#include <set>
#include <stdexcept>

namespace lockstep::cost {

namespace {

constexpr FlatCost kCosts[] = {{.alpha_s = 1, .beta_s = 0, .gamma_s = 0},
                               {.alpha_s = 0, .beta_s = 1, .gamma_s = 0},
                               {.alpha_s = 0, .beta_s = 1, .gamma_s = 1},
                               {.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 2e-10}};
constexpr double kBytes = 48000;

Variables with(Variables variables, const FlatCost& cost) {
  variables["alpha"] = cost.alpha_s;
  variables["beta"] = cost.beta_s;
  variables["gamma"] = cost.gamma_s;
  return variables;
}

void expect_within(const Range& range, double seconds, double part) {
  EXPECT_GE(seconds, range.least * (1 - part));
  EXPECT_LE(seconds, range.most * (1 + part));
}

/// A line of a comment: what it says of one collective.
using CostLines = std::vector<std::pair<std::string, std::string>>;

CostLines cost_lines_of(const std::string& algorithm) {
  static const std::regex kHead("// Cost.*:");
  static const std::regex kRow("//   ([a-z_, ]+): (.*)");
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/src/algorithms/" + algorithm + ".cpp");
  CostLines rows;
  std::string line;
  while (std::getline(file, line) && !std::regex_match(line, kHead)) {
  }
  for (std::smatch found; std::getline(file, line) && line.starts_with("//   ");) {
    if (line.starts_with("//     ")) {
      rows.back().second += line.substr(6);
    } else if (std::regex_match(line, found, kRow)) {
      rows.emplace_back(found[1], found[2]);
    } else {
      ADD_FAILURE() << algorithm << ".cpp says of costs what is none: " << line;
    }
  }
  return rows;
}

/// Each collective and what is said of it.
std::map<std::string, std::string> costs_of(const std::string& algorithm) {
  static const std::regex kName("[a-z_]+");
  std::map<std::string, std::string> costs;
  for (const auto& [names, formula] : cost_lines_of(algorithm)) {
    for (std::sregex_iterator name(names.begin(), names.end(), kName); name != std::sregex_iterator(); ++name) {
      EXPECT_TRUE(costs.emplace(name->str(), formula).second) << algorithm << " says " << name->str() << " again";
    }
  }
  return costs;
}

void expect_cost(const std::string& algorithm, Collective collective, const std::string& formula) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    for (const FlatCost& cost : kCosts) {
      SCOPED_TRACE(testing::Message() << algorithm << " " << to_string(collective) << " on " << ranks << ": " << formula
                                      << ", alpha " << cost.alpha_s);
      const PriceRequest request{.collective = collective, .ranks = ranks, .bytes = kBytes};
      const Range range = evaluate_text(formula, with({{"p", ranks}, {"n", kBytes}}, cost));
      expect_within(range, price_algorithm(algorithm, request, {.flat = cost, .description = {}}).estimate.seconds,
                    0.01);
    }
  }
}

}  // namespace

TEST(FormulaText, IsWhatPeopleWrite) {
  EXPECT_EQ(with_products("2(p-1)(alpha + n/p beta) + 2H"), "2*(p-1)*(alpha+n/p*beta)+2*H");
  EXPECT_EQ(with_products("(1 + 1/p) n floor(log2 p) q"), "(1+1/p)*n*floor(log2(p))*q");
  const auto range_of = [](const std::string& text, double p) {
    const Range range = evaluate_text(text, {{"p", p}});
    return std::pair{range.least, range.most};
  };
  EXPECT_EQ(range_of("2H, H = floor(log2 p)", 5), std::pair(4.0, 4.0));
  EXPECT_EQ(range_of("w p, w = min(2, p-1)", 5), std::pair(10.0, 10.0));
  EXPECT_EQ(range_of("up to 2p", 5), std::pair(0.0, 10.0));
  const std::string more = "q, H = floor(log2 p), q = 2^H; unless p = q, 3 more, and up to p on top of that";
  EXPECT_EQ(range_of(more, 4), std::pair(4.0, 4.0));
  EXPECT_EQ(range_of(more, 5), std::pair(7.0, 12.0));
  EXPECT_EQ(range_of("1; unless p = 2, up to p more", 5), std::pair(1.0, 6.0));
  EXPECT_EQ(range_of("1; unless p = 2, p more", 5), std::pair(6.0, 6.0));
  EXPECT_THROW(range_of("1; or so", 5), std::runtime_error);
}

TEST(FormulaText, OfAClosedFormIsWhatItComputes) {
  for (const ClosedForm& form : closed_forms()) {
    for (int ranks = 2; ranks <= 130; ++ranks) {
      for (const FlatCost& cost : kCosts) {
        SCOPED_TRACE(testing::Message() << form.algorithm << " " << to_string(form.collective) << " on " << ranks);
        const Variables variables{{"p", ranks}, {"n", kBytes}, {"h", std::ceil(std::log2(ranks))}};
        expect_within(evaluate_text(std::string(form.formula), with(variables, cost)),
                      form.evaluate(ranks, kBytes, cost).seconds, 1e-9);
      }
    }
  }
}

TEST(FormulaText, OfAnAlgorithmsCommentIsWhatItsSchedulesCost) {
  for (const Algorithm& algorithm : algorithms()) {
    std::set<std::string> expected;
    for (const Collective collective : algorithm.collectives) {
      // Of who does more a barrier is the all_reduce of nothing.
      if (collective != Collective::kBarrier || algorithm.collectives.size() == 1)
        expected.emplace(to_string(collective));
    }
    std::set<std::string> told;
    for (const auto& [collective, formula] : costs_of(algorithm.name)) {
      expect_cost(algorithm.name, parse_collective(collective), formula);
      told.insert(collective);
    }
    EXPECT_EQ(told, expected) << algorithm.name;
  }
}

}  // namespace lockstep::cost
