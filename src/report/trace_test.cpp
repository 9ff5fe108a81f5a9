#include "report/trace.h"

#include "base/atomic_file.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace lockstep {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class Trace : public testing_support::TemporaryFolder {
 protected:
  fs::path part(int rank) const { return folder_ / ("trace.rank" + std::to_string(rank) + ".json"); }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  // Two iterations as a rank sees them: spans are added when they end, so the inner ones first.
  void record(int rank, std::int64_t start) const {
    TraceRecorder recorder(rank);
    for (const std::int64_t at : {start, start + 1000}) {
      recorder.add({"forward", "compute", at, at + 300, {}});
      recorder.add({"bucket 1", "communication", at + 500, at + 950, {{"bytes", "1 MiB"}}, true});
      recorder.add({"bucket 0", "communication", at + 400, at + 900, {}, true});
      recorder.add({"backward", "compute", at + 300, at + 800, {}});
      recorder.add({"iteration", "compute", at, at + 960, {{"loss", "2.5"}}});
    }
    recorder.write(folder_);
  }

  std::vector<json> merged(int world_size) const {
    merge_traces(folder_, world_size, folder_ / "trace.json");
    return json::parse(read_file(folder_ / "trace.json")).at("traceEvents");
  }

  // Merges a rank's part that somebody else wrote, and returns the sentence of the error.
  std::string refusal(const std::string& content) const {
    record(0, 5000);
    write_file_atomically(part(1), content);
    try {
      merge_traces(folder_, 2, folder_ / "trace.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_THAT(error.what(), HasSubstr(part(1).string()));
      EXPECT_FALSE(fs::exists(folder_ / "trace.json"));
      EXPECT_TRUE(fs::exists(part(0))) << "a part was removed although the merge failed";
      return error.what();
    }
    ADD_FAILURE() << "merged: " << content;
    return "";
  }
};

TEST_F(Trace, EveryRankIsNamedOnce) {
  for (int rank = 0; rank < 3; ++rank) record(rank, 5000);
  std::multiset<std::string> processes, threads;
  for (const json& event : merged(3)) {
    if (event["name"] == "process_name") processes.insert(event["args"]["name"].get<std::string>());
    if (event["name"] == "thread_name") threads.insert(event["args"]["name"].get<std::string>());
    EXPECT_EQ(event["pid"], event["tid"]);
  }
  EXPECT_EQ(processes, (std::multiset<std::string>{"rank 0", "rank 1", "rank 2"}));
  EXPECT_EQ(threads, processes);
}

TEST_F(Trace, TimesCountFromTheEarliestSpanOfAllRanks) {
  record(0, 5000);
  record(1, 4000);
  std::map<int, std::int64_t> first{{0, 1 << 30}, {1, 1 << 30}};
  for (const json& event : merged(2)) {
    if (event.contains("ts")) first[event["pid"]] = std::min(first[event["pid"]], event["ts"].get<std::int64_t>());
  }
  EXPECT_EQ(first[1], 0);
  EXPECT_EQ(first[0], 1000);
}

TEST_F(Trace, SpansOfARankAreNestedAndInOrder) {
  record(0, 5000);
  std::vector<std::string> order;
  std::vector<std::int64_t> ends;
  std::int64_t last = 0;
  for (const json& event : merged(1)) {
    if (event["ph"] != "X") continue;
    const std::int64_t begin = event["ts"], end = begin + event["dur"].get<std::int64_t>();
    EXPECT_GE(begin, last);
    while (!ends.empty() && ends.back() <= begin) ends.pop_back();
    EXPECT_TRUE(ends.empty() || end <= ends.back()) << event;
    ends.push_back(end);
    last = begin;
    order.push_back(event["name"]);
  }
  EXPECT_THAT(order, testing::ElementsAre("iteration", "forward", "backward", "iteration", "forward", "backward"));
}

TEST_F(Trace, WhatEndsBeforeItBeginsLastsNothing) {
  TraceRecorder recorder(0);
  recorder.add({"clip", "compute", 5000, 4999, {}});
  recorder.write(folder_);
  const std::vector<json> events = merged(1);
  EXPECT_EQ(events.back()["name"], "clip");
  EXPECT_EQ(events.back()["dur"], 0);
}

TEST_F(Trace, OverlappingSpansArePairsWithAnIdOfTheirOwn) {
  record(0, 5000);
  record(1, 5000);
  std::map<std::string, json> open;
  std::set<std::string> seen;
  int pairs = 0;
  for (const json& event : merged(2)) {
    if (event["ph"] == "b") {
      EXPECT_TRUE(seen.insert(event["id2"]["local"]).second) << "twice: " << event;
      open[event["id2"]["local"]] = event;
    } else if (event["ph"] == "e") {
      ASSERT_TRUE(open.count(event["id2"]["local"])) << event;
      const json begin = open[event["id2"]["local"]];
      for (const char* same : {"name", "cat", "pid"}) EXPECT_EQ(begin[same], event[same]);
      EXPECT_EQ(event["ts"].get<int>() - begin["ts"].get<int>(), event["name"] == "bucket 1" ? 450 : 500);
      open.erase(event["id2"]["local"]);
      ++pairs;
    }
  }
  EXPECT_EQ(pairs, 8);
  EXPECT_TRUE(open.empty());
}

TEST_F(Trace, ArgumentsAreKept) {
  record(0, 5000);
  int found = 0;
  for (const json& event : merged(1)) {
    if (event["ph"] == "X" && event["name"] == "iteration") found += event["args"] == json{{"loss", "2.5"}};
    if (event["ph"] == "b" && event["name"] == "bucket 1") found += event["args"] == json{{"bytes", "1 MiB"}};
  }
  EXPECT_EQ(found, 4);
}

TEST_F(Trace, TheTypicalIterationIsTheMedianOneThatEveryRankHas) {
  for (int rank = 0; rank < 2; ++rank) {
    TraceRecorder recorder(rank);
    const std::vector<std::int64_t> lengths{900, 100, 120, 5000, 110};  // 0 warms up, 3 evaluates
    std::int64_t at = 1000;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::map<std::string, std::string> iteration{{"iteration", std::to_string(i)}};
      recorder.add({"backward", "compute", at, at + lengths[i], iteration});
      recorder.add({"bucket 0", "communication", at + 10, at + 50, iteration, true});
      recorder.add({"iteration", kIterationCategory, at, at + lengths[i], iteration});
      at += lengths[i];
    }
    if (rank == 0) recorder.add({"backward", "compute", at, at + 115, {{"iteration", "only rank 0's"}}});
    recorder.add({"start", "compute", 0, 100000, {}});
    recorder.write(folder_);
  }
  const std::vector<TimelineSpan> spans = typical_iteration(folder_, 2);
  // Iteration 2 took 120 us, the median of 100, 110, 120, 900 and 5000; its own span is no part of it.
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0].name, "backward");
  EXPECT_EQ(spans[0].begin_us, 2000);
  EXPECT_EQ(spans[0].end_us, 2120);
  EXPECT_EQ(spans[1].category, "communication");
  EXPECT_EQ(spans[2].rank, 1);
  EXPECT_EQ(files(), 2) << "the parts stay, to be merged";
}

TEST_F(Trace, NoIterationHasNoTimeline) {
  record(0, 5000);
  EXPECT_TRUE(typical_iteration(folder_, 1).empty());
  EXPECT_THROW(typical_iteration(folder_, 2), Error) << "rank 1's part is missing";
}

TEST_F(Trace, ThePartsGoWhenTheyAreMerged) {
  record(0, 5000);
  record(1, 5000);
  merged(2);
  EXPECT_EQ(files(), 1);
}

TEST_F(Trace, ARankWithoutSpansHasItsRow) {
  TraceRecorder(0).write(folder_);
  EXPECT_EQ(merged(1).size(), 3u);
}

TEST_F(Trace, TextOfAnyKindStaysJson) {
  TraceRecorder recorder(0);
  recorder.add({"\"\n\xff</script>", "\\", 1, 2, {{"\x01", "\xc3"}}});
  recorder.write(folder_);
  EXPECT_EQ(merged(1).back()["name"], "\"\n\xef\xbf\xbd</script>");
}

TEST_F(Trace, AMissingPartIsNamed) {
  record(0, 5000);
  try {
    merge_traces(folder_, 2, folder_ / "trace.json");
    FAIL() << "merged without rank 1";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), HasSubstr(part(1).string() + " cannot be read: No such file or directory"));
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(Trace, APartThatIsCutShortIsRefused) {
  record(1, 5000);
  const std::string whole = read_file(part(1));
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 2)), HasSubstr("is cut short"));
  EXPECT_THAT(refusal(whole.substr(0, whole.size() / 2 + 20)), HasSubstr("is damaged in line "));
  EXPECT_THAT(refusal(""), HasSubstr("is not one that a rank writes"));
}

TEST_F(Trace, AHostilePartIsRefused) {
  const auto line = [](const std::string& begin, const std::string& end, const std::string& arguments) {
    return "[\n{\"name\":\"x\",\"category\":\"c\",\"begin_us\":" + begin + ",\"end_us\":" + end +
           ",\"overlaps\":false,\"arguments\":" + arguments + "}\n]\n";
  };
  for (const std::string& content :
       {line("1.5", "2", "{}"), line("\"1\"", "2", "{}"), line("-9223372036854775808", "9223372036854775807", "{}"),
        line("5", "4", "{}"), line("5", "18446744073709551615", "{}"), line("1", "2", "[1]"),
        line("1", "2", "{\"a\":{}}"), line("1", "2", std::string(100000, '[')),
        line("1", "2", std::string(100000, '[') + std::string(100000, ']')), line("1", "2", "{}}, {"),
        std::string("[\n[]\n]\n"), std::string("[\n{}\n]\n"), std::string("[\nnull\n]\n"), std::string("[\n\n]\n")}) {
    EXPECT_THAT(refusal(content), HasSubstr("is damaged in line 2: ")) << content.substr(0, 200);
  }
  EXPECT_THAT(refusal("{\"traceEvents\":[]}"), HasSubstr("is not one that a rank writes"));
}

TEST_F(Trace, AFullDiskLeavesNothingHalfWritten) {
  record(0, 5000);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{300, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::string said;
  try {
    merge_traces(folder_, 1, folder_ / "trace.json");
  } catch (const Error& error) {
    said = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(said, HasSubstr("trace.json failed: File too large"));
  EXPECT_EQ(files(), 1);
  EXPECT_TRUE(fs::exists(part(0)));
}

}  // namespace lockstep
