// Every formula of docs/guide/cost.md against the schedules that run.
//
// Lines in its ```cost blocks:    SUM = FORMULA [; p is a power of 2]
// SUM is one ALGORITHM COLLECTIVE or several joined by " + ", each with "on P" ranks and "of N" bytes if not p and n.
// In ```volume blocks the same, for the most bytes that one rank sends; "wrong: " before a line says that it is a
// misprint.
#include "algorithms/catalog.h"
#include "planner/price.h"
#include "schedule/text.h"
#include "tests/cost/formula.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace lockstep::cost {

namespace {

struct Line {
  std::string text;
  std::string kind;  ///< "cost" or "volume"
  bool is_wrong = false;
  bool needs_power_of_two = false;
  std::vector<std::string> terms;
  std::string formula;
};

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

Line parse(const std::string& text, const std::string& kind) {
  constexpr std::string_view kWrong = "wrong: ";
  constexpr std::string_view kPower = "; p is a power of 2";
  Line line{.text = text, .kind = kind};
  std::string rest = text;
  if (rest.starts_with(kWrong)) {
    line.is_wrong = true;
    rest.erase(0, kWrong.size());
  }
  if (rest.ends_with(kPower)) {
    line.needs_power_of_two = true;
    rest.resize(rest.size() - kPower.size());
  }
  const std::size_t equals = rest.find('=');
  if (equals == std::string::npos) throw std::runtime_error("'" + text + "' has no =");
  line.formula = trimmed(rest.substr(equals + 1));
  rest = trimmed(rest.substr(0, equals));
  for (std::size_t plus = rest.find(" + "); plus != std::string::npos; plus = rest.find(" + ")) {
    line.terms.push_back(rest.substr(0, plus));
    rest.erase(0, plus + 3);
  }
  line.terms.push_back(rest);
  return line;
}

std::vector<Line> lines_of_the_guide() {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/docs/guide/cost.md");
  std::vector<Line> lines;
  std::string kind;
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with("```")) {
      kind = text == "```cost" || text == "```volume" ? text.substr(3) : "";
    } else if (!kind.empty() && !text.empty()) {
      lines.push_back(parse(text, kind));
    }
  }
  return lines;
}

/// What the planner says of one term.
Estimate price_of(const std::string& term, const Variables& variables, const FlatCost& cost) {
  std::istringstream words(term);
  std::string algorithm;
  std::string collective;
  words >> algorithm >> collective;
  std::map<std::string, std::string> given{{"on", "p"}, {"of", "n"}};
  for (std::string key, value; words >> key >> value;) given[key] = value;
  const PriceRequest request{.collective = parse_collective(collective),
                             .ranks = static_cast<int>(evaluate(given["on"], variables)),
                             .bytes = evaluate(given["of"], variables)};
  return price_algorithm(algorithm, request, {.flat = cost, .description = {}}).estimate;
}

void check(const Line& line, double p, double n) {
  const FlatCost cost{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 2e-10};
  const Variables variables{{"p", p},
                            {"n", n},
                            {"h", std::ceil(std::log2(p) - 1e-9)},
                            {"r", 0.125},
                            {"L", 2},
                            {"G", p / 2},
                            {"alpha", cost.alpha_s},
                            {"beta", cost.beta_s},
                            {"gamma", cost.gamma_s}};
  double priced = 0;
  for (const std::string& term : line.terms) {
    const Estimate estimate = price_of(term, variables, cost);
    priced += line.kind == "cost" ? estimate.seconds : estimate.most_sent_bytes;
  }
  const double written = evaluate(line.formula, variables);
  const double difference = std::abs(written - priced) / priced;
  if (line.is_wrong) {
    EXPECT_GT(difference, 0.1) << line.text << "\nwith p = " << p << ", n = " << n;
  } else {
    EXPECT_LT(difference, 0.01) << line.text << "\nwith p = " << p << ", n = " << n << ": written " << written
                                << ", priced " << priced;
  }
}

}  // namespace

TEST(CostGuide, EachFormulaIsWhatItsSchedulesCost) {
  const std::vector<Line> lines = lines_of_the_guide();
  EXPECT_GT(lines.size(), 15U);
  for (const Line& line : lines) {
    for (const double p : {4.0, 6.0, 8.0, 12.0, 16.0}) {
      if (line.needs_power_of_two && std::exp2(std::round(std::log2(p))) != p) continue;
      for (const double n : {48.0 * 1024, 48e6}) check(line, p, n);
    }
  }
}

}  // namespace lockstep::cost
