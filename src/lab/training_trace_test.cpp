#include "lab/training_trace.h"

#include "lab/text/test_text.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <set>
#include <string>
#include <thread>

namespace lockstep::lab {

using testing::HasSubstr;

class Trace : public TextTest {
 protected:
  std::string written(const TrainingTrace& trace) const {
    trace.write(folder_);
    merge_traces(folder_, 1, folder_ / "trace.json");
    return read_file(folder_ / "trace.json");
  }
};

TEST_F(Trace, HasTheWorkAndTheBuckets) {
  TrainingTrace trace(0);
  trace.begin(7);
  EXPECT_EQ(trace.measure("forward", [] { return 5; }), 5);
  SyncReport report;
  report.buckets.push_back({.index = 1,
                            .parameters = {"a.weight", "b.bias"},
                            .bytes = 4096,
                            .algorithm = "ring",
                            .launched_us = now_us(),
                            .completed_us = now_us() + 5,
                            .hidden = true});
  trace.add(report);
  report.buckets = {
      {.launched_us = now_us(), .completed_us = now_us() + 5, .operation = "all_gather", .block = "layers.0"}};
  trace.add(report);
  const std::string text = written(trace);
  for (const char* expected :
       {"\"forward\"", "\"bucket 1\"", "a.weight, b.bias", "4096", "ring", "\"7\"", "\"all_gather layers.0\""}) {
    EXPECT_THAT(text, HasSubstr(expected));
  }
  EXPECT_EQ(trace.extent(), "all iterations");
}

TEST_F(Trace, HasOfEachBucketWhatWasMeasuredBesideWhatWasPredicted) {
  TrainingTrace trace(0);
  trace.begin(1);
  SyncReport report;
  BucketTiming gather{.bytes = 4096, .algorithm = "ring", .launched_us = 1'000, .completed_us = 5'000};
  gather.operation = "all_gather";
  gather.block = "layers.0";
  gather.steps = 3;
  gather.wire_bytes = 2048;
  gather.begun_us = 3'000;
  gather.predicted_ms = 2.5;
  report.buckets = {gather, {.index = 1, .launched_us = 6'000, .completed_us = 7'000}};
  trace.add(report);
  nlohmann::json shown, other;
  const auto all = nlohmann::json::parse(written(trace));
  for (const auto& event : all.at("traceEvents")) {
    if (event.at("name") == "all_gather layers.0") shown = event.value("args", shown);
    if (event.at("name") == "bucket 1") other = event.value("args", other);
  }
  ASSERT_TRUE(shown.is_object() && other.is_object());
  EXPECT_EQ(shown["block"], "layers.0");
  EXPECT_EQ(shown["steps"], "3");
  EXPECT_EQ(shown["bytes sent"], "2048");
  EXPECT_EQ(shown["measured"], "2.000 ms") << "from when those before it were complete, which is what is predicted";
  EXPECT_EQ(shown["predicted"], "2.500 ms");
  EXPECT_EQ(shown["error"], "+25.0 %");
  EXPECT_EQ(other["measured"], "1.000 ms");
  for (const char* unknown : {"predicted", "error", "block"}) EXPECT_FALSE(other.contains(unknown)) << unknown;
}

TEST_F(Trace, TellsGathersOfForwardFromThoseOfBackward) {
  TrainingTrace trace(0);
  trace.begin(1);
  SyncReport report;
  for (const char* phase : {"forward", "backward"}) {
    report.buckets.push_back({.launched_us = now_us(),
                              .completed_us = now_us() + 5,
                              .operation = "all_gather",
                              .phase = phase,
                              .block = "layers.0"});
  }
  trace.add(report);
  std::set<std::string> phases;
  const auto all = nlohmann::json::parse(written(trace));
  for (const auto& event : all.at("traceEvents")) {
    if (event.at("name") == "all_gather layers.0" && event.contains("args")) {
      phases.insert(event["args"]["phase"].get<std::string>());
    }
  }
  EXPECT_THAT(phases, testing::UnorderedElementsAre("backward", "forward"));
}

TEST_F(Trace, AnIterationsSpanHasItsTimesInSum) {
  const auto wait_ms = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  TrainingTrace trace(0);
  trace.begin(1);
  trace.measure("data", [&] { wait_ms(50); });
  trace.measure("forward", [&] { wait_ms(20); });
  SyncReport report;
  report.exposed_ms = 2;
  const std::int64_t at = now_us();
  report.buckets = {{.launched_us = at - 12'000, .completed_us = at - 2'000}};
  trace.add(report);
  trace.measure("evaluation", [] {});
  nlohmann::json iteration, evaluation;
  const auto all = nlohmann::json::parse(written(trace));
  for (const auto& event : all.at("traceEvents")) {
    if (event.at("name") == "iteration") iteration = event;
    if (event.at("name") == "evaluation") evaluation = event;
  }
  ASSERT_TRUE(iteration.is_object());
  EXPECT_EQ(iteration["args"]["communication"], "10.000 ms");
  EXPECT_EQ(iteration["args"]["exposed"], "2.000 ms");
  EXPECT_EQ(iteration["args"]["hidden"], "8.000 ms");
  const double total = iteration["dur"].get<double>() / 1000;
  const double compute = std::stod(iteration["args"]["compute"].get<std::string>());
  EXPECT_GE(compute, 18);
  EXPECT_LE(compute, total - 50 - 2);
  EXPECT_GE(evaluation["ts"].get<double>(), iteration["ts"].get<double>() + iteration["dur"].get<double>());
}

TEST_F(Trace, RecordsWorkThatThrows) {
  TrainingTrace trace(0);
  trace.begin(1);
  EXPECT_THROW(trace.measure("backward", [] { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_THAT(written(trace), HasSubstr("\"backward\""));
}

TEST_F(Trace, KeepsBothEndsOfALongRun) {
  TrainingTrace trace(0);
  for (int iteration = 1; iteration <= 350; ++iteration) {
    trace.begin(iteration);
    trace.measure("forward", [] {});
  }
  EXPECT_EQ(trace.extent(), "the first 100 and the last 100 iterations");
  std::set<int> kept;
  const auto trace_json = nlohmann::json::parse(written(trace));
  for (const auto& event : trace_json.at("traceEvents")) {
    if (event.contains("args") && event["args"].contains("iteration")) {
      kept.insert(std::stoi(event["args"]["iteration"].get<std::string>()));
    }
  }
  EXPECT_EQ(kept.size(), 200U);
  EXPECT_TRUE(kept.count(1) && kept.count(100) && kept.count(251) && kept.count(350));
}

}  // namespace lockstep::lab
