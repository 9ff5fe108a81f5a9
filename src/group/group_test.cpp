#include <lockstep/world.h>

#include "algorithms/catalog.h"
#include "base/error_for_tests.h"
#include "kernels/float_mode.h"
#include "tests/conformance/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lockstep {

using testing_support::run_ranks;

TEST(Group, OperationsCompleteInOrderWhateverIsWaitedForFirst) {
  run_ranks(4, [](World& world) {
    std::vector<std::vector<std::int64_t>> values(20, std::vector<std::int64_t>(1000));
    std::vector<Pending> pending;
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (auto& value : values[i]) value = static_cast<std::int64_t>(i);
      pending.push_back(world.all_reduce(buffer_of(values[i])));
    }
    pending.back().wait();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(pending[i].done());
      EXPECT_THAT(values[i], testing::Each(static_cast<std::int64_t>(4 * i)));
    }
    EXPECT_TRUE(world.progress());
  });
}

TEST(Group, ProgressMovesWhatPeersAreReadyFor) {
  run_ranks(2, [](World& world) {
    std::vector<float> values(100, 1.0F);
    Pending pending = world.all_reduce(buffer_of(values));
    while (!pending.done()) {
    }
    EXPECT_THAT(values, testing::Each(2.0F));
    world.barrier().wait();
  });
}

#if LOCKSTEP_HAS_FLOAT_MODE
/// Of one that flushes subnormals to zero and takes them for it, whoever adds what.
TEST(Group, BytesAreTheSameWhateverARankHasSetOfItsFloats) {
  constexpr unsigned kNoSubnormals = 0x8040;
  constexpr std::uint32_t kSmall = 0x000116c2;  // 1e-40
  for (const std::string_view algorithm : algorithms_for(Collective::kAllReduce)) {
    for (const bool in_background : {false, true}) {
      std::vector<std::vector<std::uint32_t>> bits(2);
      run_ranks(2, [&](World& world) {
        std::vector<float> values(1000, std::bit_cast<float>(kSmall));
        const OperationOptions options{.algorithm = std::string(algorithm), .in_background = in_background};
        world.all_reduce(buffer_of(values), ReduceOp::kMax, options).wait();  // which starts the thread
        const unsigned before = _mm_getcsr();
        const unsigned set = world.rank() == 0 ? before | kNoSubnormals : before;
        _mm_setcsr(set);
        world.all_reduce(buffer_of(values), ReduceOp::kSum, options).wait();
        EXPECT_EQ(_mm_getcsr() & kNoSubnormals, set & kNoSubnormals);
        _mm_setcsr(before);
        for (const float value : values)
          bits[static_cast<std::size_t>(world.rank())].push_back(std::bit_cast<std::uint32_t>(value));
      });
      for (const auto& of_rank : bits) EXPECT_THAT(of_rank, testing::Each(2 * kSmall)) << algorithm;
    }
  }
}
#endif

TEST(Group, ManyMoreRanksThanCores) {
  run_ranks(17, [](World& world) {
    for (int i = 0; i < 20; ++i) {
      std::vector<std::int32_t> values(100, world.rank());
      world.all_reduce(buffer_of(values), ReduceOp::kMax).wait();
      ASSERT_THAT(values, testing::Each(16));
    }
  });
}

/// Larger than the staging area and than a socket's buffers, and of a size that no piece divides.
TEST(Group, PlainBuffersOfAnySizePassThroughStaging) {
  constexpr std::size_t kCount = 3'000'017;
  for (const std::string_view algorithm : algorithms_for(Collective::kAllReduce)) {
    run_ranks(3, [&](World& world) {
      std::vector<float> values(kCount);
      for (std::size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i % 5) * static_cast<float>(world.rank());
      world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = std::string(algorithm)}).wait();
      for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 3 * static_cast<float>(i % 5)) << algorithm;
    });
  }
}

/// Who comes late finds what the others left for it, though they went on with all that they could do without it, by
/// whatever algorithm.
TEST(Group, WhatARankHasNotReadYetIsNotOverwritten) {
  constexpr int kRanks = 4;
  constexpr int kOperations = 6;
  std::atomic<int> ahead = 0;
  run_ranks(kRanks, [&](World& world) {
    int rounds = 0;
    const auto run = [&](int late, std::string_view copies, std::string_view sums) {
      ++rounds;
      while (world.rank() == late && ahead < rounds * (kRanks - 1)) std::this_thread::yield();
      std::vector<std::vector<int>> values;
      std::vector<Pending> pending;
      std::vector<int> expected;
      for (int i = 0; i < kOperations; ++i) {
        const Buffer buffer = buffer_of(values.emplace_back(3000, 10 * i + world.rank()));
        const bool is_copy = i % 4 < 2;  // each second operation goes through the same place
        const int root = (late + 1 + i % 2) % kRanks;
        pending.push_back(is_copy ? world.broadcast(buffer, root, {.algorithm = std::string(copies)})
                                  : world.all_reduce(buffer, ReduceOp::kMax, {.algorithm = std::string(sums)}));
        expected.push_back(10 * i + (is_copy ? root : kRanks - 1));
      }
      if (world.rank() != late) ++ahead;
      for (std::size_t i = 0; i < kOperations; ++i) {
        pending[i].wait();
        ASSERT_THAT(values[i], testing::Each(expected[i]))
            << "rank " << late << " late for " << copies << " and " << sums << ", operation " << i;
      }
    };
    for (const std::string_view copies : algorithms_for(Collective::kBroadcast)) {
      for (const std::string_view sums : algorithms_for(Collective::kAllReduce)) run(rounds % kRanks, copies, sums);
    }
  });
}

/// Who waits for long says what for, and what it said then is not about what comes next.
TEST(Group, AWaitThatIsOverIsNotAboutTheNextOperation) {
  run_ranks(2, [](World& world) {
    const OperationOptions patient{.timeout = std::chrono::seconds(4)};  // a quarter of it is long
    std::vector<float> values(10, 1.0F);
    if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    world.all_reduce(buffer_of(values), ReduceOp::kSum, patient).wait();
    if (world.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    world.all_reduce(buffer_of(values), ReduceOp::kMax, patient).wait();
    EXPECT_THAT(values, testing::Each(2.0F));
  });
}

/// More than are kept: those that are under way stay.
TEST(Group, ThousandsOfShapesMayBeUnderWay) {
  constexpr std::size_t kShapes = 4200;
  std::atomic<bool> all_asked_for = false;
  run_ranks(2, [&](World& world) {
    std::vector<std::int32_t> values(kShapes, 1 + world.rank());
    while (world.rank() == 1 && !all_asked_for) std::this_thread::yield();
    std::vector<Pending> pending;
    for (std::size_t shape = 1; shape <= kShapes; ++shape) {
      pending.push_back(world.all_reduce(buffer_of(values.data(), shape), ReduceOp::kMax, {.algorithm = "naive"}));
    }
    all_asked_for = true;
    for (Pending& one : pending) one.wait();
    EXPECT_THAT(values, testing::Each(2));
  });
}

TEST(Group, MemoryThatWasMovedAwayHasNoBytes) {
  const World world = World::alone();
  RegisteredMemory memory = world.allocate(4096);
  const RegisteredMemory kept = std::move(memory);
  EXPECT_EQ(kept.bytes(), 4096U);
  EXPECT_EQ(memory.data(), nullptr);  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_EQ(memory.bytes(), 0U);
}

/// An operation that is used again asks its peers again where theirs lie.
TEST(Group, BuffersMayLieElsewhereInTheNextCall) {
  run_ranks(2, [](World& world) {
    for (const char* algorithm : {"direct", "ring"}) {
      std::vector<RegisteredMemory> memory;
      for (int i = 0; i < 4; ++i) {
        // Elsewhere on each rank, too.
        if (world.rank() == 1) memory.push_back(world.allocate(8192));
        memory.push_back(world.allocate(3000 * sizeof(float)));
        auto* const values = static_cast<float*>(memory.back().data());
        const Buffer buffer = buffer_of(values, 3000);
        std::fill_n(values, buffer.count, static_cast<float>(i + world.rank()));
        world.all_reduce(buffer, ReduceOp::kSum, {.algorithm = algorithm}).wait();
        EXPECT_THAT(std::vector<float>(values, values + buffer.count), testing::Each(static_cast<float>(2 * i + 1)));
      }
      world.barrier().wait();
    }
  });
}

TEST(Group, OneOfTwoBuffersMayBeThatOfTheGroup) {
  constexpr std::size_t kEach = 3000;
  run_ranks(2, [](World& world) {
    const RegisteredMemory memory = world.allocate(2 * kEach * sizeof(float));
    auto* const shared = static_cast<float*>(memory.data());
    std::vector<float> plain(2 * kEach, static_cast<float>(1 + world.rank()));
    const auto expect_received = [](const float* values) {
      for (std::size_t i = 0; i < 2 * kEach; ++i) ASSERT_EQ(values[i], i < kEach ? 1.0F : 2.0F) << i;
    };
    world.all_to_all(plain.data(), buffer_of(shared, 2 * kEach)).wait();
    expect_received(shared);
    std::fill_n(shared, 2 * kEach, static_cast<float>(1 + world.rank()));
    world.all_to_all(shared, buffer_of(plain)).wait();
    expect_received(plain.data());
  });
}

/// Of what goes in and comes out when it begins, not when it is asked for.
TEST(Group, AnAllToAllBeginsAfterWhatWasAskedForBefore) {
  constexpr std::size_t kEach = 100'000;
  run_ranks(2, [](World& world) {
    std::vector<float> input(2 * kEach, static_cast<float>(1 + world.rank()));
    std::vector<float> output(2 * kEach);
    if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Pending sum = world.all_reduce(buffer_of(input));
    Pending exchange = world.all_to_all(input.data(), buffer_of(output));
    sum.wait();
    exchange.wait();
    EXPECT_THAT(output, testing::Each(3.0F));
  });
}

TEST(Group, RanksThatGetDifferentAmountsChooseAlike) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_to_all: 0-4KiB direct, 4KiB- pairwise", 1), 0);
  run_ranks(2, [](World& world) {
    const std::vector<std::size_t> counts{0, 5000, 10, 0};  // from 0 to 1, from 1 to 0
    const std::size_t sent = world.rank() == 0 ? 5000 : 10;
    const std::vector<float> input(sent, 1.0F);
    std::vector<float> output(5010 - sent);
    world.all_to_all_v(input.data(), buffer_of(output), counts).wait();
    EXPECT_THAT(output, testing::Each(1.0F));
  });
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

TEST(Group, RunsAScheduleFromItsText) {
  run_ranks(2, [](World& world) {
    const std::string name = world.load_schedule(
        "lockstep-schedule 1\nname mine\ncollective all_reduce\nranks 2\nchunks 1\nroot 0\n"
        "step\nreduce 0 from 1 to 0\nstep\ncopy 0 from 0 to 1\nend\n");
    std::vector<float> values(100, 1.0F);
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = name}).wait();
    EXPECT_THAT(values, testing::Each(2.0F));
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 400, {.algorithm = name}), name);
    EXPECT_THAT(
        [&] { world.algorithm_for(Collective::kBroadcast, 400, {.algorithm = name}); },
        testing_support::refuses(ErrorCode::kInvalidArgument, "'" + name + "' is for all_reduce, not for broadcast."));
    EXPECT_THAT([&] { world.algorithm_for(Collective::kAllReduce, 400, {.algorithm = "pairwise"}); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "'pairwise' does no all_reduce"));
    EXPECT_THAT([&] { world.broadcast(buffer_of(values), 0, {.algorithm = name}).wait(); },
                testing_support::refuses(ErrorCode::kInvalidArgument,
                                         "'" + name + "' is for all_reduce, not for broadcast at root 0."));
    const Group part = world.split(0);
    EXPECT_THAT([&] { part.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = name}).wait(); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "This group has loaded no schedule '" + name +
                                                                          "'; each group loads its own."));
  });
}

TEST(Group, SaysWhatAutoStandsFor) {
  World world = World::alone();
  EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 1 << 20), "direct");
  EXPECT_EQ(world.algorithm_for(Collective::kBroadcast, 4, {.algorithm = "tree"}), "tree");
  EXPECT_THROW(world.algorithm_for(Collective::kAllReduce, 4, {.algorithm = "tere"}), Error);
}

TEST(Group, AWorldOfOneIsComplete) {
  World world = World::alone();
  std::vector<float> values{1, 2, 3};
  Pending pending = world.all_reduce(buffer_of(values), ReduceOp::kMean);
  EXPECT_TRUE(pending.done());
  EXPECT_THAT(values, testing::ElementsAre(1, 2, 3));
  std::vector<float> received(3);
  world.all_to_all(values.data(), buffer_of(received)).wait();
  EXPECT_EQ(received, values) << "what it sends to itself";
  EXPECT_EQ(world.size(), 1);
}

TEST(Group, AHandleThatWasMovedFromIsAsGoodAsBefore) {
  World world = World::alone();
  World other = static_cast<World&&>(world);
  EXPECT_EQ(world.size(), 1);
  world = static_cast<World&&>(other);
  EXPECT_EQ(other.size(), 1);
}

TEST(Group, AWorldOfOneHasNothingToHandToAVendor) {
  World world = World::alone();
  std::vector<float> values(10, 3);
  const auto record = std::make_shared<OperationRecord>();
  world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "vendor", .record = record}).wait();
  EXPECT_THAT(values, testing::Each(3.0F));
  EXPECT_NE(record->algorithm, "vendor");
}

TEST(Group, TheLongestTimeoutIsNoShortOne) {
  run_ranks(2, [](World& world) {
    std::vector<float> values(10, 1.0F);
    if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.timeout = std::chrono::milliseconds::max()}).wait();
    EXPECT_THAT(values, testing::Each(2.0F));
  });
}

}  // namespace lockstep
