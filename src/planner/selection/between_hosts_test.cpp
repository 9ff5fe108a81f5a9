// What is built in between hosts, beside everything that the catalogue could run there, as priced.
#include "algorithms/catalog.h"
#include "planner/pricing/price.h"
#include "planner/selection/selection.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

namespace {

struct Cards {
  const char* rate;
  const char* message;
  const char* latency;
  const char* core;  ///< what a rank moves within its host
};
constexpr Cards kCards[] = {{"1Gbit/s", "1us", "15us", "3GB/s"},   {"1Gbit/s", "4us", "20us", "3GB/s"},
                            {"10Gbit/s", "1us", "15us", "3GB/s"},  {"10Gbit/s", "4us", "15us", "3GB/s"},
                            {"100Gbit/s", "1us", "3us", "10GB/s"}, {"100Gbit/s", "3us", "10us", "10GB/s"}};

PricedNetwork network_of(const std::vector<int>& ranks_of_hosts, const Cards& cards) {
  std::string text = "name = \"hosts\"\ngamma = \"0.1ns/B\"\n";
  for (const int ranks : ranks_of_hosts) {
    text += fmt::format(
        "[[host]]\nranks = {}\ncore = {{ bandwidth = \"{}\", message = \"1us\" }}\n"
        "nic = {{ bandwidth = \"{}\", message = \"{}\", latency = \"{}\" }}\n",
        ranks, cards.core, cards.rate, cards.message, cards.latency);
  }
  return {.flat = {}, .description = parse_network(text, "hosts")};
}

/// What is in force over what is best.
class Regret {
 public:
  void add(double in_force, double best) {
    const double ratio = in_force / best;
    sum_ += std::log(ratio);
    worst_ = std::max(worst_, ratio);
    ++count_;
  }
  double mean() const { return std::exp(sum_ / count_); }
  double worst() const { return worst_; }

 private:
  double sum_ = 0;
  double worst_ = 1;
  int count_ = 0;
};

void add_all_sizes(Collective collective, const PricedNetwork& network, Regret& regret) {
  const int ranks = network.description->ranks;
  const std::vector<int> hosts = network.hosts_of(ranks);
  const Selection selection = built_in_selection(ranks, Medium::kTcp, hosts);
  std::map<std::string, std::function<std::optional<double>(double)>> timings;
  for (const std::string& name : all_algorithms(collective, hosts)) {
    const PriceRequest request{.collective = collective, .ranks = ranks};
    timings[name] = timing(schedule_for(name, request, hosts), network);
  }
  for (double bytes = 256; bytes <= 1 << 26; bytes *= 2) {
    std::map<std::string, double> seconds;
    for (const auto& [name, timed] : timings) seconds[name] = timed(bytes).value();
    const double best = std::min_element(seconds.begin(), seconds.end(), [](const auto& a, const auto& b) {
                          return a.second < b.second;
                        })->second;
    regret.add(seconds.at(select(selection, collective, static_cast<std::uint64_t>(bytes))), best);
  }
}

}  // namespace

TEST(BetweenHosts, WhatIsBuiltInIsNearTheBestThatIsPriced) {
  const std::vector<std::vector<int>> layouts{
      {1, 1, 1},         std::vector<int>(8, 1), std::vector<int>(24, 1), {4, 4}, {3, 3, 3, 3, 3}, {8, 8, 8, 8},
      {4, 4, 3},         std::vector<int>(8, 4), std::vector<int>(16, 2), {8, 7}, {8, 8, 8, 8, 4}, {7, 5, 3},
      {4, 4, 4, 4, 4, 1}};
  using enum Collective;
  for (const Collective collective : {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce}) {
    Regret regret;
    for (const Cards& cards : kCards) {
      for (const std::vector<int>& layout : layouts) add_all_sizes(collective, network_of(layout, cards), regret);
    }
    std::printf("%s: %.1f %% slower than the best in the mean, %.2f times as slow at worst\n",
                std::string(to_string(collective)).c_str(), 100 * (regret.mean() - 1), regret.worst());
    EXPECT_LT(regret.mean(), 1.09) << to_string(collective);
    EXPECT_LT(regret.worst(), 2.5) << to_string(collective);
  }
}

}  // namespace lockstep
