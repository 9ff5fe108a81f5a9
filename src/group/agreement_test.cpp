// What ranks are told that ask for different operations.
#include <lockstep/world.h>

#include "group/errors_for_tests.h"
#include "tests/conformance/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {

using testing_support::errors_on;
using testing_support::ranks_see_memory;

namespace {

/// Told by who comes to the operation that they disagree about, or to a later one.
testing::Matcher<const std::string&> disagreement() {
  return testing::AnyOf(testing::HasSubstr("the ranks disagree about what it is ("),
                        testing::ContainsRegex("the ranks disagree about what #[0-9]+ before it was \\("),
                        testing::HasSubstr("but not about every operation before it: compare"));
}

}  // namespace

TEST(Agreement, DisagreementSaysWhoAskedForWhat) {
  const auto sizes = errors_on(3, [](World& world) {
    std::vector<float> values(world.rank() == 1 ? 12 : 10);
    world.all_reduce(buffer_of(values)).wait();
  });
  EXPECT_THAT(sizes, testing::Each(testing::AllOf(testing::HasSubstr("rank 1: all_reduce of 12 float32 (sum, "),
                                                  testing::HasSubstr("all_reduce #1"))));
  const auto types = errors_on(2, [](World& world) {
    std::vector<float> floats(10);
    std::vector<double> doubles(10);
    world.all_reduce(world.rank() == 0 ? buffer_of(floats) : buffer_of(doubles)).wait();
  });
  EXPECT_THAT(types, testing::Each(testing::AllOf(testing::HasSubstr("10 float32"), testing::HasSubstr("10 float64"))));
  const auto operations = errors_on(2, [](World& world) {
    std::vector<float> values(10);
    if (world.rank() == 0) world.broadcast(buffer_of(values), 1).wait();
    if (world.rank() == 1) world.barrier().wait();
  });
  EXPECT_THAT(operations, testing::Each(testing::AllOf(testing::HasSubstr("rank 0: broadcast of 10 float32 at root 1"),
                                                       testing::HasSubstr("rank 1: barrier"))));
  const auto blocks = errors_on(2, [](World& world) {
    std::vector<float> values(10);
    world
        .all_gather_v(buffer_of(values),
                      world.rank() == 0 ? std::vector<std::size_t>{4, 6} : std::vector<std::size_t>{6, 4})
        .wait();
  });
  EXPECT_THAT(blocks, testing::Each(testing::HasSubstr("all_gather of 10 float32 in unequal blocks #")));
  const auto operators = errors_on(2, [](World& world) {
    std::vector<float> values(10);
    world.all_reduce(buffer_of(values), world.rank() == 0 ? ReduceOp::kMin : ReduceOp::kMax).wait();
  });
  EXPECT_THAT(operators, testing::Each(testing::AllOf(testing::HasSubstr("(min, "), testing::HasSubstr("(max, "))));
}

/// Of two ranks what a split gathers first has 48 bytes.
TEST(Agreement, ASplitIsNoGatheringOfACallers) {
  const auto errors = errors_on(2, [](World& world) {
    std::vector<std::uint8_t> values(48);
    if (world.rank() == 0) (void)world.split(0);
    if (world.rank() == 1) world.all_gather(buffer_of(values)).wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::AllOf(testing::HasSubstr("rank 0: split, by an all_gather of 48 uint8 ("),
                                                   testing::HasSubstr("rank 1: all_gather of 48 uint8 ("))));
}

TEST(Agreement, RanksThatAgreedOnceAreLookedAtAgain) {
  const auto errors = errors_on(2, [](World& world) {
    std::vector<float> values(3000);
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "ring"}).wait();
    world.all_reduce(buffer_of(values), world.rank() == 0 ? ReduceOp::kSum : ReduceOp::kMax, {.algorithm = "ring"})
        .wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("rank 1: all_reduce of 3000 float32 (max, ring)")));
}

/// What the other sent may be there before it is known that it is something else.
TEST(Agreement, DisagreementChangesNothingBeyondTheBuffer) {
  constexpr std::size_t kLess = 3000;
  std::vector<float> received(2 * kLess, -1);
  const auto errors = errors_on(2, [&](World& world) {
    std::vector<float> values(2 * kLess, 7);
    const bool sends = world.rank() == 0;
    world.broadcast(sends ? buffer_of(values) : buffer_of(received.data(), kLess), 0).wait();
    world.barrier().wait();
  });
  EXPECT_THAT(errors, testing::Each(disagreement()));
  EXPECT_THAT(std::span(received).subspan(kLess), testing::Each(-1));
}

TEST(Agreement, DisagreementIsSeenByARankThatComesLate) {
  // More than a letter holds, so that rank 0 leaves its part in staging memory, and goes on.
  std::atomic<bool> went_on = false;
  const auto errors = errors_on(2, [&](World& world) {
    std::vector<float> values(world.rank() == 0 ? 2000 : 2400);
    if (world.rank() == 1) {
      while (!went_on) std::this_thread::yield();
      world.broadcast(buffer_of(values), 0).wait();
      return;
    }
    Pending first = world.broadcast(buffer_of(values), 0);
    Pending second = world.all_reduce(buffer_of(values));
    world.progress();
    went_on = true;
    first.wait();
    second.wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("the ranks disagree about what it is")));
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("rank 1: broadcast of 2400 float32 at root 0")));
}

/// Not only once the deadline is near.
TEST(Agreement, DisagreementIsSeenThoughThePeerNeedsNobodyAndGoesNoFurther) {
  std::atomic<bool> told = false;
  const auto errors = errors_on(2, [&](World& world) {
    std::vector<float> values(2000);
    if (world.rank() == 1) {
      world.broadcast(buffer_of(values), 1).wait();
      while (!told) std::this_thread::yield();
      return;
    }
    try {
      world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "ring"}).wait();
    } catch (const Error&) {
      told = true;
      throw;
    }
  });
  EXPECT_THAT(errors[0], testing::AllOf(testing::HasSubstr("rank 0: all_reduce of 2000 float32 (sum, ring)"),
                                        testing::HasSubstr("rank 1: broadcast of 2000 float32 at root 1")));
}

TEST(Agreement, DisagreementIsSeenByRanksThatOnlyWaitForEachOther) {
  const OperationOptions options{.timeout = std::chrono::seconds(4)};
  const auto errors = errors_on(2, [&](World& world) {
    std::vector<float> values(2000);
    (world.rank() == 0 ? world.gather(buffer_of(values), 0, options) : world.broadcast(buffer_of(values), 0, options))
        .wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::AllOf(testing::HasSubstr("rank 0: gather of 2000 float32 at root 0"),
                                                   testing::HasSubstr("rank 1: broadcast of 2000 float32 at root 0"))));
}

TEST(Agreement, TwoRootsOfOneBroadcastAreFoundSoonAfter) {
  const auto errors = errors_on(2, [](World& world) {
    std::vector<float> values(2000);
    world.broadcast(buffer_of(values), world.rank()).wait();
    world.all_reduce(buffer_of(values)).wait();
  });
  EXPECT_THAT(errors, testing::Each(disagreement()));
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("broadcast of 2000 float32 at root")));
}

/// Nothing of the broadcast moves, so that nothing of it is there to be compared later.
TEST(Agreement, RanksThatDisagreedAboutNothingAreTold) {
  for (const int operations_between : {0, 20}) {
    const auto errors = errors_on(2, [&](World& world) {
      std::vector<float> values(2000);
      for (int i = 0; i <= operations_between; ++i) world.broadcast(buffer_of(values.data(), 0), world.rank()).wait();
      world.all_reduce(buffer_of(values)).wait();
    });
    EXPECT_THAT(errors, testing::Each(disagreement())) << operations_between;
  }
}

TEST(Agreement, TheOperationThatRanksDisagreedAboutIsNamed) {
  const auto errors = errors_on(2, [](World& world) {
    std::vector<float> values(2000);
    world.barrier().wait();
    world.broadcast(buffer_of(values.data(), 0), world.rank()).wait();
    world.all_reduce(buffer_of(values)).wait();
  });
  // Over messages what the other announced of it comes first.
  const char* const number = ranks_see_memory() ? "disagree about what #2 before it was (rank" : ", its #2";
  EXPECT_THAT(errors, testing::Each(testing::AllOf(testing::HasSubstr(number),
                                                   testing::HasSubstr(": broadcast of 0 float32 at root "))));
}

/// As two that each take themselves for the root, and then run small operations, or in place.
TEST(Agreement, TwoRootsAreFoundInWhateverComesNext) {
  for (const std::size_t count : {4, 2000}) {
    const auto errors = errors_on(2, [&](World& world) {
      std::vector<float> values(2000);
      world.broadcast(buffer_of(values), world.rank()).wait();
      const RegisteredMemory memory = world.allocate(count * sizeof(float));
      world.all_reduce(buffer_of(static_cast<float*>(memory.data()), count)).wait();
    });
    EXPECT_THAT(errors, testing::Each(disagreement())) << count;
  }
}

/// Rank 1 waits for rank 2 in the broadcast that rank 2 has left.
TEST(Agreement, WhoWaitsInAnOperationThatThePeerHasLeftIsTold) {
  const OperationOptions options{.algorithm = "star", .timeout = std::chrono::seconds(4)};
  const auto errors = errors_on(3, [&](World& world) {
    std::vector<float> values(2000);
    world.broadcast(buffer_of(values), world.rank() == 1 ? 2 : 0, options).wait();
    world.all_reduce(buffer_of(values), ReduceOp::kSum, options).wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("broadcast of 2000 float32 at root")));
  EXPECT_THAT(errors, testing::Each(disagreement()));
}

TEST(Agreement, RegisteredAndPlainMemoryDoNotMixWhereRanksSeeIt) {
  const auto errors = errors_on(2, [](World& world) {
    const RegisteredMemory memory = world.allocate(4000);
    std::vector<float> plain(1000);
    world
        .all_reduce(buffer_of(world.rank() == 0 ? static_cast<float*>(memory.data()) : plain.data(), 1000),
                    ReduceOp::kSum, {.algorithm = "direct"})
        .wait();
  });
  if (ranks_see_memory()) {
    EXPECT_THAT(errors,
                testing::Each(testing::HasSubstr("rank 0: all_reduce of 1000 float32 (sum, direct, registered")));
  } else {
    EXPECT_THAT(errors, testing::Each("")) << "where nobody sees another's memory, its kind is each rank's own affair";
  }
}

}  // namespace lockstep
