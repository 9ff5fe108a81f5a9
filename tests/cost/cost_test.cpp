// Every formula of docs/guide/cost.md against the schedules that run.
//
// Lines in its ```cost blocks:    SUM = FORMULA [; p is a power of 2 | ; n is small]
// p is the number of ranks, L that of a host's, of which it has G = p / L. SUM is one ALGORITHM COLLECTIVE or several
// joined by " + ", each with "on P" ranks and "of N" bytes if not p and n. In ```volume blocks the same, for the most
// bytes that one rank sends; "wrong: " before a line says that it is a misprint, of a network without gamma.
#include "algorithms/catalog.h"
#include "planner/pricing/price.h"
#include "schedule/text.h"
#include "tests/cost/formula.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace lockstep::cost {

namespace {

struct Line {
  std::string text;
  std::string kind;  ///< "cost" or "volume"
  bool is_wrong = false;
  bool needs_power_of_two = false;
  bool is_of_small_buffers = false;
  std::vector<std::string> terms;
  std::string formula;
};

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// Whether the text has this end, which is cut off then.
bool cut_end(std::string& text, std::string_view end) {
  const bool has_it = text.ends_with(end);
  if (has_it) text.resize(text.size() - end.size());
  return has_it;
}

Line parse(const std::string& text, const std::string& kind) {
  constexpr std::string_view kWrong = "wrong: ";
  Line line{.text = text, .kind = kind, .is_wrong = text.starts_with(kWrong)};
  std::string rest = line.is_wrong ? text.substr(kWrong.size()) : text;
  line.needs_power_of_two = cut_end(rest, "; p is a power of 2");
  line.is_of_small_buffers = cut_end(rest, "; n is small");
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

std::ifstream file_of_the_guide(const std::string& name) {
  return std::ifstream(std::string(LOCKSTEP_SOURCE_DIR) + "/docs/guide/" + name);
}
std::ifstream the_guide() { return file_of_the_guide("cost.md"); }

/// What the guide says, with one space between words, so that a sentence can be found in it.
std::string words_of_the_guide() {
  std::ifstream file = the_guide();
  std::string words;
  for (std::string word; file >> word;) words += word + ' ';
  return words;
}

/// What stands in the brackets of a pattern that the guide has once.
std::smatch in_the_guide(const std::string& words, const std::string& pattern) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(words, found, std::regex(pattern))) << pattern;
  return found;
}

std::vector<Line> lines_of_the_guide() {
  std::ifstream file = the_guide();
  std::vector<Line> lines;
  std::string kind;
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with("```")) {
      EXPECT_THAT(text, testing::AnyOf("```cost", "```volume", "```sh", "```")) << "a block that nobody reads";
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
  const PricedNetwork network{
      .flat = cost, .description = {}, .local_size = static_cast<int>(evaluate("L", variables))};
  return price_algorithm(algorithm, request, network).estimate;
}

/// The numbers of ranks on a host that a line is about: all that divide p, and any where it does not say L.
std::vector<double> local_sizes(const Line& line, int p) {
  if (line.text.find('L') == std::string::npos) return {1};
  std::vector<double> sizes;
  for (int size = 1; size <= p; ++size) {
    if (p % size == 0) sizes.push_back(size);
  }
  return sizes;
}

void check(const Line& line, double p, double local_size, double n) {
  const FlatCost cost{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = line.is_wrong ? 0 : 2e-10};
  const Variables variables{{"p", p},
                            {"n", n},
                            {"h", std::ceil(std::log2(p) - 1e-9)},
                            {"r", 0.125},
                            {"L", local_size},
                            {"G", p / local_size},
                            {"alpha", cost.alpha_s},
                            {"beta", cost.beta_s},
                            {"gamma", cost.gamma_s}};
  double priced = 0;
  for (const std::string& term : line.terms) {
    const Estimate estimate = price_of(term, variables, cost);
    priced += line.kind == "cost" ? estimate.seconds : estimate.most_sent_bytes;
  }
  ASSERT_GT(priced, 0) << line.text << "\nwith p = " << p << ": nothing is priced";
  const double written = evaluate(line.formula, variables);
  const double difference = std::abs(written - priced) / priced;
  if (line.is_wrong) {
    EXPECT_GT(difference, 0.1) << line.text << "\nwith p = " << p << ", n = " << n;
  } else {
    EXPECT_LT(difference, 0.01) << line.text << "\nwith p = " << p << ", L = " << local_size << ", n = " << n
                                << ": written " << written << ", priced " << priced;
  }
}

double two_trees(const PriceRequest& request, const FlatCost& cost) {
  return price_algorithm("double_tree", request, {.flat = cost, .description = {}}).estimate.seconds;
}

/// Every algorithm's all_reduce on the racks that the guide describes, in microseconds, the fastest first.
std::vector<std::pair<double, std::string>> priced_on_racks(double bytes) {
  std::ostringstream text;
  text << file_of_the_guide("racks.toml").rdbuf();
  const PricedNetwork racks{.flat = {}, .description = parse_network(text.str(), "racks.toml")};
  const PriceRequest request{.ranks = racks.description->ranks, .bytes = bytes};
  std::vector<std::pair<double, std::string>> priced;
  for (const std::string_view name : algorithms_for(Collective::kAllReduce)) {
    priced.emplace_back(1e6 * price_algorithm(name, request, racks).estimate.seconds, name);
  }
  std::sort(priced.begin(), priced.end());
  return priced;
}

}  // namespace

TEST(CostGuide, EachFormulaIsWhatItsSchedulesCost) {
  const std::vector<Line> lines = lines_of_the_guide();
  for (const Line& line : lines) {
    const std::vector<double> sizes =
        line.is_of_small_buffers ? std::vector{48.0 * 1024} : std::vector{48.0 * 1024, 48e6};
    for (int p = 4; p <= 16; ++p) {
      if (line.needs_power_of_two && !std::has_single_bit(static_cast<unsigned>(p))) continue;
      for (const double local_size : local_sizes(line, p)) {
        for (const double n : sizes) check(line, p, local_size, n);
      }
    }
  }
}

TEST(CostGuide, HasWhatTheFieldCountsWithAndItsMisprints) {
  std::set<std::string> priced;
  std::set<std::string> misprinted;
  for (const Line& line : lines_of_the_guide()) {
    const std::string sum = line.text.substr(0, line.text.find(" ="));
    (line.is_wrong ? misprinted : priced).insert(line.kind + " " + sum);
  }
  const auto has_all = [](const std::set<std::string>& lines, std::initializer_list<std::string> expected) {
    for (const std::string& line : expected) EXPECT_TRUE(lines.contains(line)) << line;
  };
  const std::string zero_3 = "ring all_gather + ring all_gather + ring reduce_scatter";
  has_all(priced,
          {"cost star all_reduce", "cost ring all_reduce", "cost tree all_reduce", "cost double_tree all_reduce",
           "cost halving_doubling all_reduce", "cost hierarchical:direct,ring all_reduce", "cost " + zero_3,
           "volume " + zero_3, "cost ring all_reduce of r*n", "volume ring all_reduce"});
  has_all(misprinted, {"volume wrong: ring all_reduce", "volume wrong: star all_reduce", "cost wrong: ring all_reduce",
                       "cost wrong: star all_reduce", "cost wrong: tree all_reduce"});
}

TEST(CostGuide, TheFiguresOfTwoTreesAreWhatTheirPriceIs) {
  const std::string words = words_of_the_guide();
  const std::smatch figures = in_the_guide(
      words,
      "-n 64 --bytes 64MiB --segments 64` says ([0-9.]+) ms, with alpha and gamma, where uncut it says ([0-9.]+) "
      "ms and 2n beta alone are ([0-9.]+)\\. ");
  ASSERT_EQ(figures.size(), 4U);
  const FlatCost usual{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10};  // where `price` is told no other
  const double bytes = 64 << 20;
  const auto priced_ms = [&](int segments) {
    return 1e3 * two_trees({.ranks = 64, .bytes = bytes, .segments = segments}, usual);
  };
  EXPECT_NEAR(std::stod(figures[1]), priced_ms(64), 0.05);
  EXPECT_NEAR(std::stod(figures[2]), priced_ms(1), 0.5);
  EXPECT_NEAR(std::stod(figures[3]), 1e3 * 2 * bytes * usual.beta_s, 0.05);
}

TEST(CostGuide, SwingIsTheFastestOnRacksWhereTheGuideSaysSo) {
  const std::string words = words_of_the_guide();
  const std::smatch figures = in_the_guide(
      words,
      "--bytes 1MiB --topology docs/guide/racks.toml`, [^.]* says ([0-9]+) us for swing and ([0-9]+) for the next, "
      "halving_doubling; of 64 KiB it says ([0-9.]+) and ([0-9.]+), and of 8 MiB ([0-9]+) us for swing, where a ring "
      "takes the least, ([0-9]+)\\. ");
  ASSERT_EQ(figures.size(), 7U);
  std::size_t figure = 1;
  for (const double bytes : {1024.0 * 1024, 64.0 * 1024}) {
    const auto priced = priced_on_racks(bytes);
    EXPECT_EQ(priced[0].second, "swing");
    EXPECT_EQ(priced[1].second, "halving_doubling");
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(std::stod(figures[figure++]), priced[i].first, 0.5) << bytes;
  }
  const auto priced = priced_on_racks(8 << 20);
  const auto swing = std::find_if(priced.begin(), priced.end(), [](const auto& one) { return one.second == "swing"; });
  EXPECT_NEAR(std::stod(figures[5]), swing->first, 0.5);
  EXPECT_NEAR(std::stod(figures[6]), priced[0].first, 0.5);
  EXPECT_THAT(priced[0].second, testing::HasSubstr("ring"));
}

TEST(CostGuide, TwoTreesTakeAtMostFourMessagesALevelAndLessThanTheNextPowerOfTwo) {
  const std::string bound =
      in_the_guide(words_of_the_guide(), "other p take at most ([^,]*) messages, which is less")[1];
  EXPECT_EQ(bound, "4 floor(log2 p)");
  for (int p = 4; p <= 130; ++p) {
    if (std::has_single_bit(static_cast<unsigned>(p))) continue;
    const double messages = two_trees({.ranks = p, .bytes = 8}, {.alpha_s = 1, .beta_s = 0, .gamma_s = 0});
    EXPECT_LE(messages, 4 * std::floor(std::log2(p)) + 1e-6) << p;
    EXPECT_LT(messages, 4 * std::ceil(std::log2(p)) - 2) << p;
  }
}

TEST(CostGuide, CutTwoTreesNearTwoBuffersAndABinomialTreeOneALevel) {
  const std::string words = words_of_the_guide();
  in_the_guide(words, "the time nears 2n beta, ");
  in_the_guide(words, "A binomial tree nears h n beta, ");
  const PricedNetwork network{.flat = FlatCost{.alpha_s = 0, .beta_s = 1e-9, .gamma_s = 0}, .description = {}};
  for (const int p : {8, 16, 32}) {
    const PriceRequest cut{.ranks = p, .bytes = 1e9, .segments = 512};
    EXPECT_NEAR(price_algorithm("double_tree", cut, network).estimate.seconds, 2, 0.2) << p;
    const double h = std::log2(p);
    EXPECT_NEAR(price_algorithm("tree", cut, network).estimate.seconds, h, 0.1 * h) << p;
  }
}

}  // namespace lockstep::cost
