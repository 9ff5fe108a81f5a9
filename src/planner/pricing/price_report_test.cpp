#include "planner/pricing/price_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {

namespace {

using testing::HasSubstr;

PriceReport report_on(const std::vector<std::string>& algorithms, double most_transfers,
                      Collective collective = Collective::kAllReduce) {
  PriceReport report{{.collective = collective, .ranks = 4, .bytes = 1 << 20, .most_transfers = most_transfers},
                     {.flat = FlatCost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0}, .description = {}},
                     {},
                     {}};
  for (const std::string& name : algorithms) {
    report.prices.push_back(price_algorithm(name, report.request, report.network));
  }
  if (algorithms.size() > 1) {
    report.sweeps.push_back(sweep(Sweep::Axis::kBytes, algorithms, report.request, report.network));
    report.sweeps.push_back(sweep(Sweep::Axis::kRanks, algorithms, report.request, report.network));
  }
  return report;
}

}  // namespace

TEST(PriceReport, ATableSaysWhatWhereAndHow) {
  const std::string table = price_table(report_on({"ring", "tree"}, 1e6), false);
  EXPECT_THAT(table, HasSubstr("all_reduce of 1 MiB on 4 ranks: flat network, alpha 1.00 us a message, 1 GB/s"));
  EXPECT_THAT(table, HasSubstr("simulated"));
  EXPECT_THAT(table, HasSubstr("out 100/100%, in 100/100%"));
  EXPECT_THAT(table, HasSubstr("At 4 ranks, by bytes: 64 B-"));
  EXPECT_THAT(table, HasSubstr("At 1 MiB, by ranks, at powers of two: 2-"));
  EXPECT_THAT(table, HasSubstr("is faster"));
  EXPECT_THAT(table, HasSubstr("\n  curves: closed form\n"));
}

TEST(PriceReport, AClosedFormIsPrintedWithItsSource) {
  EXPECT_THAT(price_table(report_on({"ring"}, 1), false),
              testing::AllOf(HasSubstr("closed form"), HasSubstr("ring: 2(p-1)(alpha + n/p beta)"), HasSubstr("2009")));
}

TEST(PriceReport, AClosedFormHasTheColumnsOfASimulation) {
  const std::string told = price_table(report_on({"tree"}, 1), false);
  const std::string simulated = price_table(report_on({"tree"}, 1e6), false);
  EXPECT_THAT(told, testing::AllOf(HasSubstr("0: 4 MiB"), HasSubstr("0 to 1: 1 MiB"), HasSubstr("out 38/50%")));
  EXPECT_EQ(told.substr(0, told.find("closed form")), simulated.substr(0, simulated.find("simulated")));
}

TEST(PriceReport, OfABarrierNothingIsSaidByBytes) {
  const std::string table = price_table(report_on({"ring", "tree"}, 1e6, Collective::kBarrier), false);
  EXPECT_THAT(table, testing::AllOf(testing::StartsWith("barrier on 4 ranks: flat network"),
                                    HasSubstr("\nBy ranks, at powers of two: "), testing::Not(HasSubstr("by bytes"))));
  EXPECT_THAT(table, testing::Not(HasSubstr("0 to 0"))) << "no pair is the busiest";
}

TEST(PriceReport, EachLinkIsListedOnRequest) {
  EXPECT_THAT(price_table(report_on({"ring"}, 1e6), true), HasSubstr("rank 3: into card 0    100.0%"));
}

TEST(PriceReport, WhereNoLinksAreListedItSaysWhy) {
  PriceReport report = report_on({"ring"}, 1e6);
  report.prices[0].links.each.clear();
  EXPECT_THAT(price_table(report, true), HasSubstr("ring: no links are listed, since more than 4096 are in use"));
  report.prices[0].links.by_kind.clear();
  EXPECT_THAT(price_table(report, true), HasSubstr("ring: no links are listed, since none is in use"));
  report.prices[0].source = Price::Source::kCalibrated;
  EXPECT_THAT(price_table(report, true), HasSubstr("ring: no links are listed, since a calibration knows of none"));
  EXPECT_THAT(price_table(report, false), testing::Not(HasSubstr("links are listed")));
}

TEST(PriceReport, JsonHasTheSameNumbers) {
  const auto json = nlohmann::json::parse(price_json(report_on({"ring", "tree"}, 1e6)));
  EXPECT_EQ(json["world_size"], 4);
  EXPECT_EQ(json["rows"][0]["algorithm"], "ring");
  EXPECT_EQ(json["rows"][0]["steps"], 6);
  EXPECT_EQ(json["rows"][0]["bytes"], 6 << 20);
  EXPECT_EQ(json["rows"][0]["by_rank"].size(), 4U);
  EXPECT_EQ(json["rows"][1]["busiest_rank"], 0);
  EXPECT_EQ(json["rows"][1]["busiest_rank_sent_bytes"], 2 << 20);
  EXPECT_EQ(json["rows"][1]["busiest_rank_received_bytes"], 2 << 20);
  EXPECT_EQ(json["rows"][1]["busiest_link"]["to"], 1);
  EXPECT_NEAR(json["rows"][0]["link_use"]["out"]["mean"].get<double>(), 1, 1e-9);
  EXPECT_EQ(json["over_bytes"]["points"].size(), json["over_bytes"]["seconds"]["tree"].size());
  EXPECT_EQ(json["over_bytes"]["crossings"][0]["above"], "ring");
  EXPECT_EQ(json["over_bytes"]["crossings"][0]["at"], json["over_bytes"]["fastest"][1]["from"]);
  EXPECT_EQ(json["over_bytes"]["sources"]["ring"], "closed form");
  EXPECT_EQ(json["over_ranks"]["not_compared"].size(), 0U);
  EXPECT_FALSE(json["over_ranks"].contains("fastest_at_the_end")) << "4 is a power of two";
}

/// All send to rank 0, which sums: hardly two numbers are the same.
TEST(PriceReport, EachNumberStandsInItsPlace) {
  PriceReport report = report_on({"star"}, 1e6, Collective::kReduce);
  report.network.flat->gamma_s = 5e-10;
  const std::string table = price_table(report, false);
  EXPECT_THAT(table, HasSubstr("1 GB/s a port each way, gamma 0.5 ns/B"));
  EXPECT_THAT(table, testing::ContainsRegex("star +1 +3 MiB +1 MiB +0: 3 MiB +1 to 0: 1 MiB +out 25/33%, in 25/100%"));
  const auto row = nlohmann::json::parse(price_json(report))["rows"][0];
  EXPECT_EQ(row["bytes"], 3 << 20);
  EXPECT_EQ(row["most_sent_bytes"], 1 << 20);
  EXPECT_EQ(row["busiest_rank_sent_bytes"], 0);
  EXPECT_EQ(row["busiest_rank_received_bytes"], 3 << 20);
  const auto there_and_back = nlohmann::json::parse(price_json(report_on({"star"}, 1e6)))["rows"][0]["by_rank"];
  const auto of_rank = [](int sent, int received, int reduced) {
    return nlohmann::json{{"sent_bytes", sent * 1048576.0},
                          {"received_bytes", received * 1048576.0},
                          {"reduced_bytes", reduced * 1048576.0}};
  };
  EXPECT_EQ(there_and_back, nlohmann::json({of_rank(3, 3, 3), of_rank(1, 1, 0), of_rank(1, 1, 0), of_rank(1, 1, 0)}));
}

TEST(PriceReport, RanksAreListedAsLongAsTheyAreNotTooMany) {
  for (const int ranks : {1024, 1025}) {
    PriceReport report{{.ranks = ranks, .bytes = 4}, {.flat = FlatCost{}, .description = {}}, {}, {}};
    report.prices.push_back(price_algorithm("star", report.request, report.network));
    EXPECT_EQ(nlohmann::json::parse(price_json(report))["rows"][0].contains("by_rank"), ranks == 1024);
  }
}

TEST(PriceReport, JsonOfAClosedFormLacksWhatOnlyAScheduleHas) {
  nlohmann::json simulated = nlohmann::json::parse(price_json(report_on({"tree"}, 1e6)))["rows"][0];
  nlohmann::json told = nlohmann::json::parse(price_json(report_on({"tree"}, 1)))["rows"][0];
  EXPECT_EQ(told["source"], "closed form");
  for (const char* key : {"by_rank", "transfers", "source"}) simulated.erase(key);
  for (const char* key : {"note", "source"}) told.erase(key);
  EXPECT_EQ(told, simulated);
}

TEST(PriceReport, SaysWhoIsNotCompared) {
  PriceReport report{
      {.ranks = 11, .bytes = 1 << 20, .most_transfers = 50}, {.flat = {}, .description = flat_network(11, {})}, {}, {}};
  report.sweeps.push_back(sweep(Sweep::Axis::kRanks, {"ring", "tree"}, report.request, report.network));
  EXPECT_THAT(price_table(report, false),
              HasSubstr("\n  not compared, too much to price at each point: ring from 8 on\n"));
  const auto json = nlohmann::json::parse(price_json(report))["over_ranks"];
  ASSERT_EQ(json["not_compared"].size(), 1U);
  EXPECT_EQ(json["not_compared"][0]["algorithm"], "ring");
  EXPECT_EQ(json["not_compared"][0]["from"], 8);
  EXPECT_EQ(json["not_compared"][0]["to"], 11);
  EXPECT_EQ(json["sources"]["ring"], "simulated");
  EXPECT_EQ(json["fastest_at_the_end"]["at"], 11);
  EXPECT_EQ(json["fastest_at_the_end"]["algorithm"], "tree");
}

}  // namespace lockstep
