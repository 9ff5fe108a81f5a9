#include "group/canonical.h"

#include "algorithms/catalog.h"
#include "base/error_for_tests.h"
#include "group/thread_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/world.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace lockstep {

namespace {

constexpr std::array<float, 4> kValues{1e8F, 1.0F, -1e8F, 1.0F};

/// What four ranks end with that contribute a permutation of kValues each, element i the i-th of 24.
std::vector<float> sums(const std::string& algorithm, bool registered, std::size_t at_once) {
  std::vector<float> result;
  run_threads(4, [&](World& world) {
    std::array<int, 4> order{0, 1, 2, 3};
    std::vector<float> own;
    do own.push_back(kValues[static_cast<std::size_t>(order[static_cast<std::size_t>(world.rank())])]);
    while (std::next_permutation(order.begin(), order.end()));
    const RegisteredMemory memory = world.allocate(own.size() * sizeof(float));
    float* data = registered ? static_cast<float*>(memory.data()) : own.data();
    std::memmove(data, own.data(), own.size() * sizeof(float));
    for (std::size_t i = 0; i < own.size(); i += at_once) {
      world
          .all_reduce(buffer_of(data + i, at_once), ReduceOp::kSum,
                      {.algorithm = algorithm, .reduction = Reduction::kCanonical})
          .wait();
    }
    if (world.rank() == 3) result.assign(data, data + own.size());
    world.barrier().wait();
  });
  return result;
}

}  // namespace

/// Pairs, then pairs of pairs, whoever adds them, where, and in how large pieces.
TEST(Canonical, TheBitsAreThoseOfTheTreeWhateverRuns) {
  std::array<int, 4> order{0, 1, 2, 3};
  std::vector<float> tree;
  do {
    const auto value = [&](std::size_t rank) { return kValues[static_cast<std::size_t>(order[rank])]; };
    tree.push_back((value(0) + value(1)) + (value(2) + value(3)));
  } while (std::next_permutation(order.begin(), order.end()));
  int admitted = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.supports(Collective::kAllReduce)) continue;
    try {
      for (const bool registered : {false, true}) {
        for (const std::size_t at_once : {24U, 1U, 3U, 8U}) {
          EXPECT_EQ(sums(std::string(algorithm.name), registered, at_once), tree) << algorithm.name;
        }
      }
      ++admitted;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("canonical tree; ask for auto"));
    }
  }
  EXPECT_GE(admitted, 3);
  EXPECT_EQ(sums("auto", false, 24), tree);
}

TEST(Canonical, AnAlgorithmThatSumsOtherwiseIsRefused) {
  run_threads(3, [](World& world) {
    std::vector<float> values(6);
    const OperationOptions ring{.algorithm = "ring", .reduction = Reduction::kCanonical};
    try {
      world.all_reduce(buffer_of(values), ReduceOp::kSum, ring).wait();
      ADD_FAILURE() << "it ran";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(), testing::HasSubstr("'ring' does not sum float32 along the canonical tree"));
    }
    world.all_gather(buffer_of(values), ring).wait();  // sums nothing
  });
}

/// Of so many ranks nothing is proved, which says nothing of the order in which they sum.
TEST(Canonical, OfMoreRanksThanAreProvedThatIsSaid) {
  for (const int ranks : {1024, 1025}) {
    Identity identity;
    identity.size = ranks;
    detail::Schedules schedules(identity, Medium::kTcp, {});
    detail::Canonical canonical(schedules, 7);
    detail::Task task{.collective = Collective::kAllReduce, .buffer = {}};
    const auto choose = [&] { return canonical.choose(task, "star", MemoryKind::kPlain); };
    if (ranks == 1024) {
      EXPECT_EQ(choose(), "star");
    } else {
      EXPECT_THAT(choose, testing_support::refuses(ErrorCode::kUnsupported,
                                                   "Rank 7: all_reduce: a canonical reduction takes at most 1024 "
                                                   "ranks, since its order is proved, and this group has 1025"));
    }
    task.collective = Collective::kBroadcast;
    EXPECT_EQ(choose(), "star") << "sums nothing";
  }
}

TEST(Canonical, WhatCannotBeBuiltIsNotTakenForASumInAnotherOrder) {
  Identity identity;
  for (const int size : {11, 13, 16, 17, 19, 23}) {  // no chunks fit all of these
    identity.hosts.insert(identity.hosts.end(), static_cast<std::size_t>(size), size);
  }
  identity.size = static_cast<int>(identity.hosts.size());
  detail::Schedules schedules(identity, Medium::kTcp, {});
  detail::Canonical canonical(schedules, 0);
  const detail::Task task{.collective = Collective::kAllReduce, .buffer = {}};
  for (int time = 0; time < 2; ++time) {
    try {
      canonical.choose(task, "hierarchical:ring,tree", MemoryKind::kPlain);
      ADD_FAILURE() << "it was built";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("canonical tree"))) << time;
    }
  }
}

/// Recursive doubling adds along the tree on four ranks, but would round a 16-bit partial sum.
TEST(Canonical, SixteenBitPartialSumsAreNeverRounded) {
  run_threads(4, [](World& world) {
    const OperationOptions options{.algorithm = "recursive_doubling", .reduction = Reduction::kCanonical};
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 64, options), "recursive_doubling");
    EXPECT_THROW(world.algorithm_for(Collective::kAllReduce, 64, options, DataType::kBFloat16), Error);
  });
}

TEST(Canonical, AutoTakesTheCheapestThatSumsAlongTheTree) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: 0- ring", 1), 0);
  const auto expect_cheapest = [](World& world) {
    const OperationOptions options{.reduction = Reduction::kCanonical};
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 64 << 20, options), "direct");
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 64 << 20, options, DataType::kBFloat16), "direct");
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 64, options), "naive") << "one step";
  };
  run_threads(4, expect_cheapest);
  detail::run_threads_over_tcp(4, expect_cheapest);  // where a rank keeps its own transfers only
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

TEST(Canonical, TheEnvironmentSaysWhatHoldsWhereNobodyAsks) {
  ASSERT_EQ(::setenv("LOCKSTEP_REDUCTION", "canonical", 1), 0);
  EXPECT_EQ(detail::reduction_from_environment(), Reduction::kCanonical);
  run_threads(3, [](World& world) {
    std::vector<float> values(6);
    EXPECT_THROW(world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "ring"}).wait(), Error);
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "ring", .reduction = Reduction::kFast}).wait();
  });
  ASSERT_EQ(::setenv("LOCKSTEP_REDUCTION", "cannonical", 1), 0);
  EXPECT_THAT([] { detail::reduction_from_environment(); },
              testing_support::refuses(ErrorCode::kInvalidArgument,
                                       "LOCKSTEP_REDUCTION is 'cannonical'. Did you mean 'canonical'?"));
  ASSERT_EQ(::unsetenv("LOCKSTEP_REDUCTION"), 0);
  EXPECT_EQ(detail::reduction_from_environment(), Reduction::kFast);
}

}  // namespace lockstep
