#include "group/prepared_operations.h"

#include "algorithms/catalog.h"
#include "group/engine_for_tests.h"
#include "transport/shm/thread_host.h"
#include "transport/tcp/thread_host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::detail {

TEST(PreparedOperations, ThoseUsedLongestAgoAreForgotten) {
  const auto engine = make_lone_engine();
  Schedules schedules(Identity{}, Medium::kSharedMemory, {});
  PreparedOperations operations(*engine, schedules);
  std::vector<float> values(PreparedOperations::kMostKept + 2);
  const auto find = [&](std::size_t count) -> PreparedOperation& {
    return operations.find({.collective = Collective::kAllReduce, .buffer = buffer_of(values.data(), count)}, "auto",
                           Reduction::kFast);
  };
  for (std::size_t count = 1; count <= PreparedOperations::kMostKept; ++count) find(count);
  const PreparedOperation* const first = &find(1);
  operations.trim();
  EXPECT_EQ(operations.kept(), PreparedOperations::kMostKept) << "as many as that are kept";

  find(PreparedOperations::kMostKept + 1);
  operations.trim();
  EXPECT_LT(operations.kept(), PreparedOperations::kMostKept);
  const std::size_t kept = operations.kept();
  EXPECT_EQ(&find(1), first) << "it was used again";
  find(PreparedOperations::kMostKept + 1);
  EXPECT_EQ(operations.kept(), kept);
  find(2);
  EXPECT_EQ(operations.kept(), kept + 1) << "it had been forgotten";
}

/// The oldest one is under way all the time, and it twice, as many as are kept beside it.
TEST(PreparedOperations, ThoseUnderWayAreNotForgotten) {
  constexpr std::size_t kMost = PreparedOperations::kMostKept;
  const auto engine = make_lone_engine();
  Schedules schedules(Identity{}, Medium::kSharedMemory, {});
  PreparedOperations operations(*engine, schedules);
  std::vector<float> values(2 * kMost + 2);
  const auto find = [&](std::size_t count) -> PreparedOperation& {
    return operations.find({.collective = Collective::kAllReduce, .buffer = buffer_of(values.data(), count)}, "auto",
                           Reduction::kFast);
  };
  PreparedOperation& first = find(1);
  operations.take(first);
  operations.take(first);
  operations.give_back(first);
  for (std::size_t count = 2; count <= kMost + 2; ++count) {
    find(count);
    operations.trim();
    EXPECT_EQ(operations.kept(), count <= kMost + 1 ? count : kMost / 2 + 1);
  }
  EXPECT_EQ(&find(1), &first);
  EXPECT_EQ(operations.kept(), kMost / 2 + 1) << "it was there";

  operations.give_back(first);
  find(2);
  for (std::size_t count = kMost + 3; count <= 2 * kMost + 2; ++count) {
    find(count);
    operations.trim();
    ASSERT_LE(operations.kept(), kMost);
  }
  const std::size_t kept = operations.kept();
  find(1);
  EXPECT_EQ(operations.kept(), kept + 1) << "it was at rest, and had been forgotten";
}

/// Once they are at rest, there are too many of them.
TEST(PreparedOperations, AsManyMayBeUnderWayAsAreAskedFor) {
  constexpr std::size_t kUnderWay = 2 * PreparedOperations::kMostKept;
  const auto engine = make_lone_engine();
  Schedules schedules(Identity{}, Medium::kSharedMemory, {});
  PreparedOperations operations(*engine, schedules);
  std::vector<float> values(kUnderWay);
  std::vector<PreparedOperation*> under_way;
  for (std::size_t count = 1; count <= kUnderWay; ++count) {
    under_way.push_back(&operations.find(
        {.collective = Collective::kAllReduce, .buffer = buffer_of(values.data(), count)}, "auto", Reduction::kFast));
    operations.trim();
    operations.take(*under_way.back());
  }
  EXPECT_EQ(operations.kept(), kUnderWay);
  for (PreparedOperation* operation : under_way) operations.give_back(*operation);
  operations.trim();
  EXPECT_EQ(operations.kept(), PreparedOperations::kMostKept / 2);
}

namespace {

/// One of 32 ranks, without the others: operations are made, and none runs.
class OneOfMany final : public WrappedEngine {
 public:
  static constexpr int kRanks = 32;
  OneOfMany() : WrappedEngine(make_lone_engine()) {}
  int size() const override { return kRanks; }
  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    ++prepared;
    return std::make_unique<Idle>(shape.announcement, std::move(shape.layout));
  }
  int prepared = 0;

 private:
  class Idle final : public RunningOperation {
   public:
    Idle(const Announcement& announcement, Layout layout)
        : RunningOperation(announcement), layout_(std::move(layout)) {}
    void wait_for_peer_until(Time /*at_most*/) override {}
    std::size_t bytes_kept() const override { return sizeof *this + layout_.bytes_kept(); }

   private:
    void enter() override {}
    bool go_on() override { return true; }
    Layout layout_;
  };
};

}  // namespace

/// All of different sizes, as tokens go to experts: each operation keeps where 1,024 blocks come from and go to.
TEST(PreparedOperations, ThoseThatTakeMuchMemoryAreForgottenEarlier) {
  constexpr std::size_t kPairs = std::size_t{OneOfMany::kRanks} * OneOfMany::kRanks;
  constexpr std::size_t kShapes = 4000;
  OneOfMany engine;
  Schedules schedules(Identity{.rank = 0, .size = OneOfMany::kRanks}, Medium::kSharedMemory, {});
  PreparedOperations operations(engine, schedules);
  std::vector<float> values(2);
  std::vector<std::size_t> counts(kPairs, 1);
  const auto find = [&](std::size_t shape) -> PreparedOperation& {
    counts.front() = shape;
    return operations.find({.collective = Collective::kAllToAll,
                            .buffer = buffer_of(values.data(), OneOfMany::kRanks),
                            .input = values.data() + 1,
                            .block_counts = counts},
                           "direct", Reduction::kFast);
  };
  std::size_t most_bytes = 0;
  for (std::size_t shape = 0; shape < kShapes; ++shape) {
    const std::size_t before = operations.bytes_kept();
    const PreparedOperation* const operation = &find(shape);
    EXPECT_GE(operation->bytes, 40 * kPairs) << "two places of 16 bytes and a count for each pair";
    EXPECT_EQ(operations.bytes_kept(), before + operation->bytes);
    operations.trim();
    EXPECT_EQ(&find(shape), operation) << "the last one stays";
    most_bytes = std::max(most_bytes, operations.bytes_kept());
  }
  EXPECT_EQ(engine.prepared, static_cast<int>(kShapes));
  EXPECT_LE(most_bytes, PreparedOperations::kMostBytesKept);
  EXPECT_GT(most_bytes, PreparedOperations::kMostBytesKept / 2);

  const std::size_t lately = operations.kept();
  EXPECT_GT(lately, kShapes / 10);
  for (std::size_t shape = kShapes - lately; shape < kShapes; ++shape) find(shape);
  EXPECT_EQ(engine.prepared, static_cast<int>(kShapes)) << "those used lately are kept";
  find(kShapes - lately - 1);
  EXPECT_EQ(engine.prepared, static_cast<int>(kShapes) + 1);
}

/// What an operation says that it takes is no less than what grows with the pairs: places, and counts in its key.
TEST(PreparedOperations, WhatOneTakesIsCountedOverSharedMemoryAndOverMessages) {
  constexpr int kRanks = 4;
  constexpr std::size_t kPairs = std::size_t{kRanks} * kRanks;
  auto in_memory = shm::thread_hosts(kRanks);
  auto over_sockets = tcp::thread_hosts(kRanks);
  const std::array engines{make_engine(shm::create(std::move(in_memory.front()))),
                           make_engine(tcp::create(std::move(over_sockets.front())))};
  for (const auto& engine : engines) {
    Schedules schedules(Identity{.rank = 0, .size = kRanks}, engine->medium(), {});
    PreparedOperations operations(*engine, schedules);
    std::vector<float> values(2 * kRanks);
    const std::vector<std::size_t> counts(kPairs, 1);
    const Task task{.collective = Collective::kAllToAll,
                    .buffer = buffer_of(values.data(), kRanks),
                    .input = values.data() + kRanks,
                    .block_counts = counts};
    const std::size_t bytes = operations.find(task, "direct", Reduction::kFast).bytes;
    EXPECT_GE(bytes, kPairs * (2 * sizeof(Layout::Span) + sizeof(std::size_t)));
    EXPECT_LE(bytes, std::size_t{16} << 10);
    EXPECT_EQ(operations.bytes_kept(), bytes);
  }
}

/// An announcement has room for the beginning of a long name: by that, ranks that run different ones find out.
TEST(PreparedOperations, WhatIsAnnouncedOfANameTellsItFromAllOthers) {
  std::set<std::string> names;
  std::set<std::string> announced;
  const auto add = [&](const std::string& name) {
    for (const std::string& piped : {name, "segmented:2:" + name, "segmented:65535:" + name}) {
      Announcement announcement;
      announcement.name_algorithm(piped);
      names.insert(piped);
      announced.emplace(announcement.algorithm_name());
    }
  };
  const std::vector<std::string_view> parts = algorithms_for(Collective::kAllReduce);
  for (const std::string_view local : parts) {
    add(std::string(local));
    for (const std::string_view global : parts)
      add(find_algorithm(fmt::format("hierarchical:{},{}", local, global)).name);
  }
  EXPECT_GT(names.size(), parts.size() * parts.size());
  EXPECT_EQ(announced.size(), names.size());
}

}  // namespace lockstep::detail
