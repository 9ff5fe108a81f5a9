#include "study/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <functional>

namespace lockstep::study {

using testing::AllOf;
using testing::HasSubstr;

namespace {

/// As `lockstep train --jsonl` wrote it.
constexpr const char* kLines =
    R"({"iteration":1,"loss":4.2,"compute_ms":90.0,"exposed_ms":9.0,"bytes":300,"algorithm":"ring"}
{"iteration":2,"loss":4.1,"compute_ms":10.0,"exposed_ms":2.0,"data_wait_ms":1.0,"hidden_ms":0.5,"bytes":300,"algorithm":"ring","buckets":[{"index":0,"parameters":["a"],"bytes":100,"algorithm":"ring","milliseconds":0.5,"hidden":true,"operation":"all_reduce","steps":2,"wire_bytes":100,"predicted_ms":0.4},{"index":1,"parameters":["b"],"bytes":200,"algorithm":"direct","milliseconds":1.5,"hidden":false,"operation":"all_gather","block":"layers.0","phase":"forward"}]}
{"iteration":3,"loss":4.0,"compute_ms":12.0,"exposed_ms":4.0,"bytes":300,"algorithm":"ring"}
)";

std::string refused(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST(Records, OfIterationsAreReadAfterTheWarmUp) {
  TrainingRun run;
  run.iterations = parse_iterations(kLines, 2, "log.jsonl");
  ASSERT_EQ(run.iterations.size(), 2u);
  EXPECT_DOUBLE_EQ(total_ms(run.iterations[0]), 13);
  EXPECT_DOUBLE_EQ(run.iteration_ms(), 14.5);
  EXPECT_DOUBLE_EQ(run.exposed_ms(), 3);
  EXPECT_DOUBLE_EQ(run.least_exposed_ms(), 2);
  EXPECT_DOUBLE_EQ(run.iterations[0].hidden_ms, 0.5);
  const BucketRecord &first = run.iterations[0].buckets.at(0), &second = run.iterations[0].buckets.at(1);
  EXPECT_EQ(first.bytes, 100u);
  EXPECT_EQ(first.wire_bytes, 100u);
  EXPECT_EQ(first.predicted_ms, 0.4);
  EXPECT_EQ(second.operation, "all_gather");
  EXPECT_EQ(second.block, "layers.0");
  EXPECT_EQ(second.phase, "forward");
  EXPECT_FALSE(second.predicted_ms);
}

TEST(Records, ThatAreMissingOrDamagedAreNamed) {
  EXPECT_THAT(refused([] { parse_iterations(kLines, 9, "log.jsonl"); }),
              AllOf(HasSubstr("log.jsonl has no iteration from the 9. on"), HasSubstr("--iterations")));
  EXPECT_THAT(refused([] { parse_iterations("{\"iteration\":1", 1, "log.jsonl"); }),
              HasSubstr("log.jsonl is not what"));
  EXPECT_THAT(refused([] { parse_iterations("{\"iteration\":1}\n", 1, "log.jsonl"); }), HasSubstr("compute_ms"));
  EXPECT_THAT(refused([] { parse_phases("[]", 1, "trace.json"); }), HasSubstr("trace.json is not what"));
  EXPECT_THAT(refused([] { parse_summary("{}", "summary.json"); }), HasSubstr("summary.json is not what"));
  EXPECT_THAT(refused([] { parse_bench("", "bench.json"); }), HasSubstr("bench.json is not what"));
}

TEST(Records, OfATraceAreRankZerosMedians) {
  const char* trace = R"({"displayTimeUnit":"ms","traceEvents":[
{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"rank 0"}},
{"name":"forward","cat":"compute","ph":"X","pid":0,"tid":0,"ts":0,"dur":90000,"args":{"iteration":"1"}},
{"name":"forward","cat":"compute","ph":"X","pid":0,"tid":0,"ts":0,"dur":1000,"args":{"iteration":"2"}},
{"name":"forward","cat":"compute","ph":"X","pid":0,"tid":0,"ts":0,"dur":3000,"args":{"iteration":"3"}},
{"name":"bucket 0","cat":"communication","ph":"b","pid":0,"tid":0,"ts":0,"args":{"iteration":"3"}},
{"name":"forward","cat":"compute","ph":"X","pid":1,"tid":1,"ts":0,"dur":70000,"args":{"iteration":"3"}}
]})";
  TrainingRun run;
  run.phase_ms = parse_phases(trace, 2, "trace.json");
  EXPECT_EQ(run.phase_ms.size(), 1u);
  EXPECT_DOUBLE_EQ(run.phase("forward"), 2);
  EXPECT_EQ(run.phase("optimizer"), 0);
}

TEST(Records, OfASummaryHoldMemory) {
  const TrainingRun run = parse_summary(
      R"({"title":"sst2","ranks":2,"parameters":10,"seconds":1.5,"memory":[{"kind":"gradients","predicted_bytes":40,"measured_bytes":44}]})",
      "summary.json");
  EXPECT_EQ(run.title, "sst2");
  EXPECT_EQ(run.ranks, 2);
  EXPECT_EQ(run.parameters, 10u);
  ASSERT_EQ(run.memory.size(), 1u);
  EXPECT_EQ(run.memory[0].kind, "gradients");
  EXPECT_EQ(run.memory[0].measured_bytes, 44u);
}

TEST(Records, OfABenchAreSecondsAndWrongResultsAreNone) {
  const auto times =
      parse_bench(R"({"rows":[{"bytes":64,"algorithm":"ring","median_us":12.5,"wrong":0}]})", "bench.json");
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].algorithm, "ring");
  EXPECT_DOUBLE_EQ(times[0].seconds, 12.5e-6);
  EXPECT_THAT(refused([] {
                parse_bench(R"({"rows":[{"bytes":64,"algorithm":"ring","median_us":12.5,"wrong":3}]})", "bench.json");
              }),
              HasSubstr("3 elements of ring's result were wrong"));
}

}  // namespace lockstep::study
