// What the ranks of a group are told when something is wrong.
#include <lockstep/world.h>

#include "group/errors_for_tests.h"
#include "tests/conformance/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {

using testing_support::errors_on;
using testing_support::ranks_see_memory;
using testing_support::run_ranks;

TEST(GroupErrors, ARankThatLeavesIsNamed) {
  const auto errors = errors_on(3, [](World& world) {
    std::vector<float> values(10);
    world.all_reduce(buffer_of(values)).wait();
    if (world.rank() == 2) return;
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.purpose = "gradients of layer1.weight"}).wait();
  });
  EXPECT_EQ(errors[2], "");
  for (const int rank : {0, 1}) {
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                testing::AllOf(testing::HasSubstr("rank 2 has left"), testing::HasSubstr("all_reduce #2"),
                               testing::HasSubstr("gradients of layer1.weight")));
  }
}

TEST(GroupErrors, ARankThatThrowsIsQuotedToTheOthers) {
  std::vector<std::string> errors(2);
  try {
    run_ranks(2, [&](World& world) {
      if (world.rank() == 1) throw std::runtime_error("the disk is on fire");
      try {
        world.barrier().wait();
      } catch (const Error& error) {
        errors[0] = error.what();
        EXPECT_EQ(error.peer(), 1);
      }
    });
    FAIL() << "swallowed the exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the disk is on fire");
  }
  EXPECT_THAT(errors[0], testing::HasSubstr("rank 1 left the group: the disk is on fire"));
}

TEST(GroupErrors, ADeadlineNamesWhoDidNotCome) {
  std::atomic<int> given_up = 0;
  const auto errors = errors_on(3, [&](World& world) {
    if (world.rank() != 1) {
      try {
        world.barrier({.timeout = std::chrono::milliseconds(100)}).wait();
      } catch (const Error&) {
        ++given_up;
        throw;
      }
    }
    // Rank 1 stays, but never comes to the barrier.
    while (world.rank() == 1 && given_up < 2) std::this_thread::yield();
  });
  EXPECT_THAT(errors[0], testing::HasSubstr("for rank 1, which did not come to it"));
  EXPECT_THAT(errors[2], testing::HasSubstr("for rank 1, which did not come to it"));
}

/// Which needs of rank 1 what that has made of what rank 0 gave it.
TEST(GroupErrors, ADeadlineNamesWhoCameAndWentNoFurther) {
  std::atomic<bool> has_come = false;
  std::atomic<bool> given_up = false;
  const auto errors = errors_on(2, [&](World& world) {
    std::vector<float> values(2000);
    while (world.rank() == 0 && !has_come) std::this_thread::yield();
    Pending pending = world.all_reduce(buffer_of(values), ReduceOp::kSum,
                                       {.algorithm = "ring", .timeout = std::chrono::milliseconds(200)});
    has_come = true;
    while (world.rank() == 1 && !given_up) std::this_thread::yield();
    if (world.rank() == 1) return;
    try {
      pending.wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTimeout);
      given_up = true;
      throw;
    }
    given_up = true;
  });
  EXPECT_THAT(errors[0], testing::HasSubstr("waited 0.2 s for rank 1, which entered it and went no further"));
}

namespace {

/// What two ranks' registered buffers hold, and what they threw, after rank 0 began `operation` and, if that did not
/// end within its time, gave it up; took its own buffer for something else (2s); and rank 1 came to it with 3s.
struct Late {
  std::vector<float> of_rank_0;
  std::vector<float> of_rank_1;
  std::vector<std::string> errors;
};
template <class Start>
Late coming_late_to(const Start& operation) {
  constexpr std::size_t kFloats = 20'000;
  std::array<std::vector<float>, 2> held;
  std::atomic<bool> is_left = false;
  std::atomic<bool> is_over = false;
  auto errors = errors_on(2, [&](World& world) {
    const RegisteredMemory memory = world.allocate(kFloats * sizeof(float));
    const std::span values(static_cast<float*>(memory.data()), kFloats);
    std::fill(values.begin(), values.end(), world.rank() == 0 ? 1.F : 3.F);
    while (world.rank() == 1 && !is_left) std::this_thread::yield();
    std::optional<Error> error;
    try {
      operation(world, buffer_of(values.data(), values.size())).wait();
    } catch (const Error& thrown) {
      error = thrown;
    }
    if (world.rank() == 0) std::fill(values.begin(), values.end(), 2.F);
    is_left = true;
    while (world.rank() == 0 && !is_over) std::this_thread::yield();
    held[static_cast<std::size_t>(world.rank())].assign(values.begin(), values.end());
    is_over = true;
    if (error) throw Error(*error);
  });
  return {held[0], held[1], std::move(errors)};
}

constexpr const char* kGivenUp = "waited 0.05 s for rank 1, which did not come to it";

}  // namespace

/// Where memory is shared; over sockets a root is through once it has sent all, and that arrives.
TEST(GroupErrors, WhoComesLateReadsNothingThatARootPutsThereAfterwards) {
  const Late late = coming_late_to([](World& world, const Buffer& buffer) {
    return world.broadcast(buffer, 0, {.timeout = std::chrono::milliseconds(50)});
  });
  if (ranks_see_memory()) {
    EXPECT_THAT(late.errors, testing::Each(testing::HasSubstr(kGivenUp)));
    EXPECT_THAT(late.of_rank_1, testing::Each(3.F));
  } else {
    EXPECT_THAT(late.errors, testing::Each(""));
    EXPECT_THAT(late.of_rank_1, testing::Each(1.F));
  }
}

TEST(GroupErrors, WhoComesLateWritesNothingToWhoHasGivenUp) {
  const Late late = coming_late_to([](World& world, const Buffer& buffer) {
    return world.all_reduce(buffer, ReduceOp::kSum, {.algorithm = "direct", .timeout = std::chrono::milliseconds(50)});
  });
  EXPECT_THAT(late.errors, testing::Each(testing::HasSubstr(kGivenUp)));
  EXPECT_THAT(late.of_rank_0, testing::Each(2.F));
}

/// More than a letter holds, and more operations than there are slots to stage in: the root waits for room before it
/// can begin, and is there all the same.
TEST(GroupErrors, ADeadlineNamesWhoDidNotComeAndNoneWhoWaitsForRoom) {
  std::atomic<int> finished = 0;
  const auto errors = errors_on(3, [&](World& world) {
    std::vector<float> values(2000);
    try {
      for (int i = 0; world.rank() != 2 && i < 4; ++i) {
        world.broadcast(buffer_of(values), 0, {.algorithm = "star", .timeout = std::chrono::seconds(1)}).wait();
      }
    } catch (const Error&) {
      ++finished;
      throw;
    }
    ++finished;
    while (world.rank() == 2 && finished < 3) std::this_thread::yield();
  });
  if (ranks_see_memory()) {
    EXPECT_THAT(errors[0], testing::HasSubstr("for rank 2, which did not come to it"));
    EXPECT_THAT(errors[1], testing::HasSubstr("for rank 2, which did not come to it"));
  } else {
    EXPECT_THAT(errors, testing::Each("")) << "where messages are sent, the root of a broadcast waits for nobody";
  }
}

/// The same, of who differs.
TEST(GroupErrors, WhoDisagreesWhileItWaitsForRoomSaysWhatItAskedFor) {
  const auto errors = errors_on(2, [](World& world) {
    std::vector<float> values(2400);
    for (int i = 0; i < 3; ++i) {
      const bool differs = i == 2 && world.rank() == 1;
      if (differs) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      world.all_reduce(buffer_of(values.data(), differs ? 2400 : 2000)).wait();
    }
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("rank 0: all_reduce of 2000 float32")));
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("rank 1: all_reduce of 2400 float32")));
}

namespace {

/// What `start` ends with where rank 0 asks again and again whether it is done, and rank 1 never comes to it.
std::string timeout_of_polled(const std::function<Pending(World&, const OperationOptions&)>& start) {
  std::atomic<bool> given_up = false;
  std::string said;
  run_ranks(2, [&](World& world) {
    while (world.rank() == 1 && !given_up) std::this_thread::yield();
    if (world.rank() == 1) return;
    try {
      Pending pending = start(world, {.timeout = std::chrono::milliseconds(100)});
      while (!pending.done()) std::this_thread::yield();
      ADD_FAILURE() << "nobody came to it, and it is done";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTimeout) << error.what();
      said = error.what();
    }
    given_up = true;
  });
  return said;
}

}  // namespace

TEST(GroupErrors, ADeadlineIsKeptWhereNobodyWaits) {
  std::vector<float> values(10, 1.0F);
  const auto said = timeout_of_polled([&](World& world, const OperationOptions& options) {
    return world.all_reduce(buffer_of(values), ReduceOp::kSum, options);
  });
  EXPECT_THAT(said, testing::HasSubstr("rank 1, which did not come to it"));
}

TEST(GroupErrors, AMessageThatNobodySendsIsNotAskedForForEver) {
  float value = 0;
  const auto said = timeout_of_polled(
      [&](World& world, const OperationOptions& options) { return world.receive(buffer_of(&value, 1), 1, options); });
  EXPECT_THAT(said, testing::HasSubstr("rank 1, which did not send it"));
}

TEST(GroupErrors, APolledMessageFromARankThatLeftFails) {
  const auto errors = errors_on(2, [](World& world) {
    if (world.rank() == 1) return;
    float value = 0;
    Pending pending = world.receive(buffer_of(&value, 1), 1);
    while (!world.progress()) std::this_thread::yield();
    pending.wait();
  });
  EXPECT_THAT(errors[0], testing::HasSubstr("rank 1 has left"));
}

TEST(GroupErrors, AFailedGroupStaysFailed) {
  run_ranks(2, [](World& world) {
    std::vector<float> values(world.rank() == 0 ? 1 : 2);
    EXPECT_THROW(world.all_reduce(buffer_of(values)).wait(), Error);
    EXPECT_THROW(world.barrier().wait(), Error);
    EXPECT_THROW(world.progress(), Error);
  });
}

}  // namespace lockstep
