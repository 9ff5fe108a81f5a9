#include "bench/result.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep::bench {

namespace {

Row row(std::size_t bytes, const std::string& algorithm, double median_us, bool picked = false) {
  return {.bytes = bytes,
          .count = bytes / 4,
          .algorithm = algorithm,
          .picked = picked,
          .median_us = median_us,
          .round_median_us = {median_us, median_us, median_us, median_us}};
}

Result example() {
  Result result{.world_size = 4, .transport = "shm", .limit_gb_per_s = 50};
  result.rows = {row(1024, "ring", 8), row(1024, "direct", 4), row(1024, "tree", 5, true),
                 row(4096, "ring", 6), row(4096, "direct", 8), row(4096, "direct", 8, true)};
  result.rows[2].as_auto = result.rows[4].as_auto = result.rows[5].as_auto = true;
  result.options.algorithm = "all";
  return result;
}

}  // namespace

TEST(Result, RegretIsAgainstTheBestOfTheSameSize) {
  const auto all = regrets(example().rows);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].best, "direct");
  EXPECT_DOUBLE_EQ(all[0].share, 0.25);
  EXPECT_EQ(all[1].best, "ring");
  EXPECT_DOUBLE_EQ(all[1].share, 1.0 / 3);
  EXPECT_THAT(regrets({row(4, "direct", 1, true)}), testing::IsEmpty()) << "nothing to compare with";
}

TEST(Result, WhereNothingIsSummedThereIsNoOperator) {
  Result result = example();
  EXPECT_THAT(to_table(result), testing::ContainsRegex("float32 +sum +ring"));
  for (const Collective collective : {Collective::kBroadcast, Collective::kBarrier}) {
    result.options.collective = collective;
    EXPECT_THAT(to_table(result), testing::ContainsRegex("float32 +none +ring"));
    EXPECT_EQ(nlohmann::json::parse(to_json(result)).at("op"), "none");
  }
}

TEST(Result, OneRankMovesACopy) {
  Result result = example();
  EXPECT_THAT(to_table(result), testing::HasSubstr("4 copies move 50.0 GB/s"));
  result.world_size = 1;
  EXPECT_THAT(to_table(result), testing::HasSubstr("a copy moves 50.0 GB/s"));
}

TEST(Result, AScheduleFromAFileIsComparedWithWhatRanBesideIt) {
  Result result = example();
  EXPECT_THAT(file_regrets(result.rows), testing::IsEmpty());
  EXPECT_EQ(to_json(result).find("regret_of_file"), std::string::npos);
  result.rows = {row(4096, "direct", 8), row(4096, "direct#1", 8.4)};
  result.rows.back().from_file = true;
  const auto all = file_regrets(result.rows);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NEAR(all[0].share, 0.05, 1e-9);
  EXPECT_THAT(regrets(result.rows), testing::IsEmpty()) << "auto did not run";
  result.rows.front().picked = true;
  EXPECT_THAT(regrets(result.rows), testing::IsEmpty()) << "auto could not have taken the file";
  EXPECT_EQ(file_regrets(result.rows).size(), 1U);
  result.rows.front().picked = false;
  EXPECT_THAT(to_table(result), testing::AllOf(testing::HasSubstr("the file took direct#1, +5.0 % of direct, the best"),
                                               testing::HasSubstr("# regret of the file: 5.0 % on average")));
  EXPECT_EQ(nlohmann::json::parse(to_json(result)).at("regret_of_file").at(0).at("file"), "direct#1");
}

/// Luck in one half of the rounds chooses an algorithm, and is not there in the other half.
TEST(Result, LuckIsNoRegret) {
  std::vector<Row> rows{row(4, "ring", 10), row(4, "tree", 9.5), row(4, "ring", 10, true)};
  rows[1].round_median_us = {9, 10, 9, 10};
  const auto all = regrets(rows);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].best, "tree");
  EXPECT_DOUBLE_EQ(all[0].share, 0);
}

/// A round in which the whole machine was slow says nothing of either.
TEST(Result, SlowRoundsAreNoRegret) {
  std::vector<Row> rows{row(4, "ring", 10), row(4, "tree", 12, true)};
  rows[0].round_median_us = {10, 10, 30, 30, 10, 10, 50, 50};
  rows[1].round_median_us = {11, 11, 33, 33, 40, 40, 55, 55};
  EXPECT_NEAR(regrets(rows).at(0).share, 0.1, 1e-9) << "the fifth and the sixth are disturbances of auto alone";
}

/// Rows of one schedule, whatever it is called there, differ by noise.
TEST(Result, WhoTookTheBestLostNothing) {
  std::vector<Row> rows{row(4, "star", 10), row(4, "ring", 15), row(4, "tree", 12, true)};
  rows[0].as_auto = rows[2].as_auto = true;
  const Regret regret = regrets(rows).at(0);
  EXPECT_EQ(regret.best, "star");
  EXPECT_EQ(regret.share, 0);
  EXPECT_NEAR(regret.again.value(), 0.2, 1e-9);
  rows[0].as_auto = false;
  EXPECT_NEAR(regrets(rows).at(0).share, 0.2, 1e-9);
  EXPECT_FALSE(regrets(rows).at(0).again.has_value());
}

TEST(Result, TableHasAColumnForEachNumberAndSaysWhatIsWrong) {
  Result result = example();
  EXPECT_THAT(to_table(result), testing::AllOf(testing::HasSubstr("# all_reduce on 4 ranks, registered memory, shm"),
                                               testing::HasSubstr("tree (auto)"),
                                               testing::HasSubstr("29.2 % on average, 33.3 % at worst"),
                                               testing::HasSubstr("auto's took +0.0 % on average, 0.0 % at most"),
                                               testing::Not(testing::HasSubstr("WRONG"))));
  std::rotate(result.rows.begin(), result.rows.begin() + 3, result.rows.end());
  EXPECT_THAT(to_table(result), testing::HasSubstr("29.2 % on average, 33.3 % at worst")) << "the worst stands first";
  result.rows[2].round_median_us = {7.2, 7.2, 7.2, 7.2};
  EXPECT_THAT(to_table(result), testing::HasSubstr("auto's took -10.0 % on average, 10.0 % at most"));
  result.rows[1].wrong = 3;
  EXPECT_THAT(to_table(result), testing::HasSubstr("# 3 elements were WRONG"));
}

TEST(Result, WhatDidNotRunIsNamed) {
  Result result = example();
  EXPECT_THAT(to_table(result), testing::Not(testing::HasSubstr("not run")));
  EXPECT_FALSE(nlohmann::json::parse(to_json(result)).contains("not_run"));
  result.not_run = {"naive", "double_tree"};
  EXPECT_THAT(table_end(result), testing::HasSubstr("# not run: naive, double_tree (they do not fit these ranks or "
                                                    "this kind of reduction)\n"));
  EXPECT_EQ(nlohmann::json::parse(to_json(result)).at("not_run"), nlohmann::json::array({"naive", "double_tree"}));
}

TEST(Result, ABarrierHasNoMemory) {
  Result result = example();
  result.options.collective = Collective::kBarrier;
  EXPECT_THAT(to_table(result), testing::StartsWith("# barrier on 4 ranks, shm; 4 copies move "));
}

TEST(Result, HeadingSaysWhereRanksAre) {
  Result result = example();
  EXPECT_THAT(table_heading(result), testing::HasSubstr("on 4 ranks, "));
  result.hosts = {0, 0, 0, 0};
  EXPECT_THAT(table_heading(result), testing::HasSubstr("on 4 ranks, "));
  result.hosts = {0, 1, 0, 0};
  EXPECT_THAT(table_heading(result), testing::HasSubstr("on 4 ranks on 2 hosts (3, 1), "));
}

TEST(Result, JsonIsOneObject) {
  const auto json = nlohmann::json::parse(to_json(example()));
  EXPECT_EQ(json.at("world_size"), 4);
  EXPECT_EQ(json.at("limit_gb_per_s"), 50);
  EXPECT_EQ(json.at("cold"), false);
  EXPECT_EQ(json.at("cache_bytes"), nullptr) << "what measures says of it";
  EXPECT_EQ(json.at("rows").size(), 6U);
  for (const char* key : {"bytes", "algorithm", "median_us", "p99_us", "algbw_gb_per_s", "busbw_gb_per_s", "wrong"}) {
    EXPECT_TRUE(json.at("rows")[0].contains(key)) << key;
  }
  EXPECT_EQ(json.at("regret").size(), 2U);
  EXPECT_FALSE(json.at("regret")[0].contains("again"));
  EXPECT_EQ(json.at("regret")[1].at("again"), 0);
}

}  // namespace lockstep::bench
