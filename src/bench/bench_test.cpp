#include "bench/bench.h"

#include "base/error_for_tests.h"
#include "bench/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

namespace lockstep::bench {

namespace {

using testing::ElementsAre;

Options quick(Collective collective) {
  Options options;
  options.collective = collective;
  options.max_bytes = 4096;
  options.factor = 32;
  options.min_time = std::chrono::milliseconds(1);
  options.cache_bytes = 1 << 20;
  return options;
}

/// Rank 0's result of a run on threads.
Result run_on_threads(int ranks, const Options& options) {
  Result result;
  run_threads(ranks, [&](World& world) {
    const Result mine = run(world, options, {});
    if (world.rank() == 0) result = mine;
  });
  return result;
}

std::string refusal(const Options& options) {
  try {
    check(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST(Bench, MeasuresEachCollectiveAndFindsItsResultsRight) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather, Collective::kBroadcast,
        Collective::kReduce, Collective::kGather, Collective::kScatter, Collective::kAllToAll, Collective::kBarrier}) {
    SCOPED_TRACE(to_string(collective));
    const Result result = run_on_threads(3, quick(collective));
    EXPECT_EQ(result.world_size, 3);
    EXPECT_GT(result.limit_gb_per_s, 0);
    EXPECT_EQ(result.wrong(), 0U);
    ASSERT_EQ(result.rows.size(), collective == Collective::kBarrier ? 1U : 3U);
    for (const Row& row : result.rows) {
      EXPECT_GT(row.median_us, 0);
      EXPECT_GE(row.p99_us, row.median_us);
      EXPECT_GE(row.iterations, 10U);
    }
  }
}

TEST(Bench, OtherMemoryTypesAndOperators) {
  Options options = quick(Collective::kAllReduce);
  options.min_bytes = options.max_bytes = 1000;
  const struct {
    bool plain;
    DataType dtype;
    ReduceOp op;
  } kinds[] = {{true, DataType::kFloat64, ReduceOp::kMean},
               {true, DataType::kInt32, ReduceOp::kSum},
               {false, DataType::kBFloat16, ReduceOp::kMax},
               {false, DataType::kUInt8, ReduceOp::kProduct}};
  for (const auto& kind : kinds) {
    options.plain = kind.plain;
    options.dtype = kind.dtype;
    options.op = kind.op;
    EXPECT_EQ(run_on_threads(2, options).wrong(), 0U) << to_string(kind.dtype) << to_string(kind.op);
  }
}

TEST(Bench, OfColdBuffersResultsAreRightToo) {
  Options options = quick(Collective::kAllReduce);
  options.min_bytes = options.max_bytes = 8 << 20;
  options.cold = true;
  const Result result = run_on_threads(2, options);
  EXPECT_EQ(result.wrong(), 0U);
  EXPECT_EQ(result.options.cache_bytes, 1U << 20);
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(result.rows[0].busbw_gb_per_s, result.rows[0].algbw_gb_per_s) << "2(p-1)/p is 1 for two";
}

TEST(Bench, AllMeasuresEachAlgorithmAndAuto) {
  Options options = quick(Collective::kAllReduce);
  options.min_bytes = options.max_bytes = 64;
  options.algorithm = "all";
  const Result result = run_on_threads(2, options);
  std::vector<std::string> names;
  for (const Row& row : result.rows) names.push_back(row.algorithm);
  EXPECT_THAT(names, testing::IsSupersetOf({"direct", "ring", "tree"}));
  ASSERT_EQ(regrets(result.rows).size(), 1U);
  EXPECT_TRUE(regrets(result.rows)[0].again.has_value()) << "auto's schedule has a row of its own";
  std::map<std::string, bool> as_auto;
  for (const Row& row : result.rows) as_auto.emplace(row.algorithm, row.as_auto);
  EXPECT_TRUE(as_auto.at(result.rows.back().algorithm));
  EXPECT_EQ(as_auto.at("star"), as_auto.at("tree")) << "of two ranks they are the same";
  EXPECT_FALSE(as_auto.at("ring") && as_auto.at("naive"));
  EXPECT_TRUE(result.rows.back().picked);
  for (const Row& row : result.rows) EXPECT_EQ(row.batch, result.rows.front().batch) << row.algorithm;
}

TEST(Bench, OfAllThoseThatDoNotSumInCanonicalOrderAreNamedAsNotRun) {
  Options options = quick(Collective::kAllReduce);
  options.algorithm = "all";
  EXPECT_THAT(run_on_threads(2, options).not_run, testing::IsEmpty());
  ASSERT_EQ(::setenv("LOCKSTEP_REDUCTION", "canonical", 1), 0);
  const Result result = run_on_threads(4, options);
  ASSERT_EQ(::unsetenv("LOCKSTEP_REDUCTION"), 0);
  EXPECT_THAT(result.not_run, testing::IsSupersetOf({"ring", "bidirectional_ring"}));
  for (const Row& row : result.rows) EXPECT_THAT(result.not_run, testing::Not(testing::Contains(row.algorithm)));
  EXPECT_EQ(std::set(result.not_run.begin(), result.not_run.end()).size(), result.not_run.size())
      << "once, of several sizes";
}

/// Each sums its own ranks only, of which the patterns tell.
TEST(Bench, GroupsMeasureSideBySide) {
  Options options = quick(Collective::kAllReduce);
  options.algorithm = "all";
  options.groups = 2;
  for (const bool interleaved : {false, true}) {
    options.interleaved = interleaved;
    const Result result = run_on_threads(6, options);
    EXPECT_EQ(result.world_size, 6);
    EXPECT_EQ(result.wrong(), 0U);
    ASSERT_FALSE(result.rows.empty());
    EXPECT_DOUBLE_EQ(result.rows[0].busbw_gb_per_s, result.rows[0].algbw_gb_per_s * 4 / 3) << "2(p-1)/p, p = 3";
    EXPECT_EQ(regrets(result.rows).size(), 3U);
  }
}

TEST(Bench, SizesAreWholeElementsAndBlocks) {
  Options options;
  options.min_bytes = 4;
  options.max_bytes = 100;
  options.factor = 3;
  EXPECT_THAT(sizes(options, 3), ElementsAre(4, 12, 36));
  Options to_the_most = options;
  to_the_most.min_bytes = to_the_most.factor = std::uint64_t{1} << 20;
  to_the_most.max_bytes = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(sizes(to_the_most, 3), ElementsAre(1U << 20, std::uint64_t{1} << 40, std::uint64_t{1} << 60));
  options.collective = Collective::kAllGather;
  EXPECT_THAT(sizes(options, 3), ElementsAre(12, 36));
  EXPECT_THAT(sizes(options, 8), ElementsAre(32));
  options.min_bytes = 40;
  EXPECT_THAT(sizes(options, 8), ElementsAre(64)) << "none is less than the least that is asked for";
  options.min_bytes = 4;
  EXPECT_THAT([&] { (void)sizes(options, 26); },
              testing_support::refuses(ErrorCode::kInvalidArgument, "--max-bytes is 100, and the smallest"));
  options.collective = Collective::kBarrier;
  EXPECT_THAT(sizes(options, 3), ElementsAre(0));
}

TEST(Bench, OptionsThatMakeNoSenseAreRefused) {
  Options options;
  options.factor = 1;
  EXPECT_THAT(refusal(options), testing::HasSubstr("--factor"));
  options.factor = 2;
  options.min_bytes = 2;
  EXPECT_THAT(refusal(options), testing::HasSubstr("less than one element of float32"));
  options.min_bytes = 64;
  options.max_bytes = 32;
  EXPECT_THAT(refusal(options), testing::HasSubstr("--max-bytes is 32"));
  options = Options{.cache_bytes = 0};
  EXPECT_THAT(refusal(options), testing::HasSubstr("--cache-bytes is 0; leave it out"));
}

TEST(Bench, AScheduleThatIsNoneIsRefusedBeforeAnythingIsMeasured) {
  Options options = quick(Collective::kAllReduce);
  options.schedule = "no schedule";
  bool has_begun = false;
  const Progress begins = [&](const Result&, const Row*) { has_begun = true; };
  EXPECT_THROW(run_threads(1, [&](World& world) { (void)run(world, options, begins); }), Error);
  EXPECT_FALSE(has_begun);
}

TEST(Bench, ARootThatIsNotThereIsRefusedBeforeAnythingIsMeasured) {
  Options options = quick(Collective::kBroadcast);
  options.root = 2;
  EXPECT_THAT([&] { (void)run_on_threads(2, options); },
              testing_support::refuses(ErrorCode::kInvalidArgument, "--root says 2, and there are 2 ranks."));
}

}  // namespace lockstep::bench
