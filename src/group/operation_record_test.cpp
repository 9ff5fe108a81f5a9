// What a group says of an operation that has run.
#include "algorithms/catalog.h"
#include "base/clock.h"
#include "group/thread_world.h"
#include "planner/network/count.h"
#include "planner/pricing/price.h"

#include <gtest/gtest.h>
#include <lockstep/traffic.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace lockstep {
namespace {

constexpr std::size_t kCount = std::size_t{12} << 12;  // of 2, 3 and 4 ranks, in whole cache lines
constexpr double kMessageBytes = kCount * sizeof(float);

class Record : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static int ranks() { return std::get<0>(GetParam()); }
  static void run(const std::function<void(World&)>& f) {
    std::get<1>(GetParam()) ? detail::run_threads_over_tcp(ranks(), f) : run_threads(ranks(), f);
  }
};
INSTANTIATE_TEST_SUITE_P(RanksAndTransports, Record, testing::Combine(testing::Values(2, 3, 4), testing::Bool()),
                         [](const auto& of) {
                           return std::to_string(std::get<0>(of.param)) +
                                  (std::get<1>(of.param) ? "OverTcp" : "InMemory");
                         });

Pending start(const World& world, Collective collective, Buffer buffer, const OperationOptions& options) {
  if (collective == Collective::kReduceScatter) return world.reduce_scatter(buffer, ReduceOp::kSum, options);
  if (collective == Collective::kAllGather) return world.all_gather(buffer, options);
  return world.all_reduce(buffer, ReduceOp::kSum, options);
}

TEST_P(Record, IsWhatTheSchedulePlans) {
  run([](World& world) {
    for (const auto collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
      for (const std::string_view algorithm : algorithms_for(collective)) {
        const Counts planned =
            count(schedule_for(algorithm, {.collective = collective, .ranks = world.size()}), kMessageBytes);
        const auto record = std::make_shared<OperationRecord>();
        std::vector<float> values(kCount, 1);
        start(world, collective, buffer_of(values), {.algorithm = std::string(algorithm), .record = record}).wait();
        EXPECT_EQ(record->algorithm, algorithm);
        EXPECT_EQ(static_cast<std::uint64_t>(record->steps), planned.steps) << algorithm;
        EXPECT_EQ(static_cast<double>(record->wire_bytes),
                  planned.by_rank[static_cast<std::size_t>(world.rank())].sent_bytes)
            << algorithm;
      }
    }
  });
}

TEST_P(Record, SaysWhatAutoWasAndHowLongItTook) {
  run([](World& world) {
    std::vector<float> values(kCount, 1);
    const auto first = std::make_shared<OperationRecord>();
    const auto second = std::make_shared<OperationRecord>();
    const auto before = now_us();
    Pending one = world.all_reduce(buffer_of(values), ReduceOp::kSum, {.record = first});
    Pending other = world.all_gather(buffer_of(values), {.algorithm = "ring", .record = second});
    other.wait();
    one.wait();
    EXPECT_EQ(first->algorithm,
              world.algorithm_for(Collective::kAllReduce, kCount * sizeof(float), {}, DataType::kFloat32, false));
    EXPECT_LE(before, first->begun_us);
    EXPECT_LE(first->begun_us, first->completed_us);
    EXPECT_LE(first->completed_us, second->begun_us);
    EXPECT_LE(second->begun_us, second->completed_us);
    EXPECT_LE(second->completed_us, now_us());
    EXPECT_EQ(second->steps, world.size() - 1);
  });
}

/// What is said to be sent is what the sockets carry, but for what ranks tell each other to agree on an operation.
TEST(OperationRecord, IsWhatGoesOverANetwork) {
  detail::run_threads_over_tcp(4, [](World& world) {
    for (const std::string_view algorithm : algorithms_for(Collective::kAllReduce)) {
      const auto record = std::make_shared<OperationRecord>();
      std::vector<float> values(kCount, 1);
      const auto before = bytes_sent(world);
      world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = std::string(algorithm), .record = record})
          .wait();
      const auto sent = bytes_sent(world) - before;
      EXPECT_GE(sent, record->wire_bytes) << algorithm;
      EXPECT_LE(sent, record->wire_bytes + 1024 * 4) << algorithm;
    }
  });
}

TEST_P(Record, TotalsAddUpWhatWasAskedFor) {
  run([](World& world) {
    std::vector<float> values(kCount, 1);
    const auto before = operations_asked(world);
    OperationTotals sum;
    for (const char* algorithm : {"ring", "direct", "auto"}) {
      const auto record = std::make_shared<OperationRecord>();
      world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = algorithm, .record = record}).wait();
      ++sum.operations;
      sum.steps += static_cast<std::uint64_t>(record->steps);
      sum.wire_bytes += record->wire_bytes;
    }
    const auto after = operations_asked(world);
    EXPECT_EQ(after.operations - before.operations, sum.operations);
    EXPECT_EQ(after.steps - before.steps, sum.steps);
    EXPECT_EQ(after.wire_bytes - before.wire_bytes, sum.wire_bytes);
    EXPECT_GT(sum.wire_bytes, 0u);
  });
}

TEST(OperationRecord, OfAGroupOfOneIsOfNothing) {
  const World alone = World::alone();
  std::vector<float> values(8, 1);
  const auto record = std::make_shared<OperationRecord>();
  alone.all_reduce(buffer_of(values), ReduceOp::kSum, {.record = record}).wait();
  EXPECT_EQ(record->algorithm, alone.algorithm_for(Collective::kAllReduce, 32));
  EXPECT_EQ(record->steps, 0);
  EXPECT_EQ(record->wire_bytes, 0u);
  EXPECT_LE(record->begun_us, record->completed_us);
  EXPECT_GT(record->begun_us, 0);
}

/// Unequal blocks count as they are.
TEST_P(Record, KnowsUnequalBlocks) {
  run([](World& world) {
    std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()));
    std::size_t all = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) all += counts[r] = 100 * (r + 1);
    std::vector<float> values(all, 1);
    const auto record = std::make_shared<OperationRecord>();
    world.all_gather_v(buffer_of(values), counts, {.algorithm = "direct", .record = record}).wait();
    const auto own = counts[static_cast<std::size_t>(world.rank())];
    EXPECT_EQ(record->wire_bytes, own * sizeof(float) * (counts.size() - 1));
  });
}

}  // namespace
}  // namespace lockstep
