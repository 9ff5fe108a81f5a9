// What the ranks of a group are told when something is wrong.
#include <lockstep/prediction.h>
#include <lockstep/world.h>

#include "base/error_for_tests.h"
#include "tests/conformance/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {

using testing_support::ranks_see_memory;
using testing_support::run_ranks;

namespace {

/// The error that `f` throws on each rank, by rank; empty where none.
std::vector<std::string> errors_on(int ranks, const std::function<void(World&)>& f) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](World& world) {
    try {
      f(world);
    } catch (const Error& error) {
      errors[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  return errors;
}

}  // namespace

TEST(GroupErrors, ASchedulesTextThatDoesNotWorkIsRefused) {
  run_ranks(2, [](World& world) {
    const std::string head = "lockstep-schedule 1\nname mine\ncollective all_reduce\nranks ";
    const auto refused = [&](const std::string& text, ErrorCode code, const char* why) {
      try {
        world.load_schedule(text);
        ADD_FAILURE() << "accepted: " << why;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code);
        EXPECT_THAT(error.what(), testing::HasSubstr(why));
      }
    };
    refused("something else", ErrorCode::kRefused, "line 1");
    refused(head + "2\nchunks 1\nroot 0\nstep\nreduce 0 from 1 to 0\nend\n", ErrorCode::kRefused, "rank 1");
    refused(head + "1\nchunks 1\nroot 0\nend\n", ErrorCode::kInvalidArgument, "this group has 2");
  });
}

TEST(GroupErrors, DisagreementSaysWhoAskedForWhat) {
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

TEST(GroupErrors, RanksThatAgreedOnceAreLookedAtAgain) {
  const auto errors = errors_on(2, [](World& world) {
    std::vector<float> values(3000);
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "ring"}).wait();
    world.all_reduce(buffer_of(values), world.rank() == 0 ? ReduceOp::kSum : ReduceOp::kMax, {.algorithm = "ring"})
        .wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("rank 1: all_reduce of 3000 float32 (max, ring)")));
}

TEST(GroupErrors, DisagreementIsSeenByARankThatComesLate) {
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
TEST(GroupErrors, DisagreementIsSeenThoughThePeerNeedsNobodyAndGoesNoFurther) {
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

TEST(GroupErrors, DisagreementIsSeenByRanksThatOnlyWaitForEachOther) {
  const OperationOptions options{.timeout = std::chrono::seconds(4)};
  const auto errors = errors_on(2, [&](World& world) {
    std::vector<float> values(2000);
    (world.rank() == 0 ? world.gather(buffer_of(values), 0, options) : world.broadcast(buffer_of(values), 0, options))
        .wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::AllOf(testing::HasSubstr("rank 0: gather of 2000 float32 at root 0"),
                                                   testing::HasSubstr("rank 1: broadcast of 2000 float32 at root 0"))));
}

TEST(GroupErrors, TwoRootsOfOneBroadcastAreFoundSoonAfter) {
  const auto errors = errors_on(2, [](World& world) {
    std::vector<float> values(2000);
    world.broadcast(buffer_of(values), world.rank()).wait();
    for (int i = 0; i < 4; ++i) world.all_reduce(buffer_of(values)).wait();
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("the ranks disagree about what it is")));
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("broadcast of 2000 float32 at root")));
}

TEST(GroupErrors, RegisteredAndPlainMemoryDoNotMixWhereRanksSeeIt) {
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

TEST(GroupErrors, VendorNeedsALibraryBeneath) {
  EXPECT_THAT(errors_on(2,
                        [](World& world) {
                          std::vector<float> values(10);
                          world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "vendor"}).wait();
                        }),
              testing::Each(testing::ContainsRegex(
                  "^Rank [01]: all_reduce: 'vendor' hands a collective to the library beneath the transport, and there "
                  "is none")));
}

/// No list is not a list of equal blocks: with it, less may lie in the input than the output has room for.
TEST(GroupErrors, BlockCountsAreNeverNone) {
  for (const int ranks : {1, 2}) {
    run_ranks(ranks, [ranks](World& world) {
      std::vector<float> input(4);
      std::vector<float> values(4, 7.0F);
      const Buffer all = buffer_of(values);
      const auto refused = [ranks](const char* pairs, const char* each) {
        return testing_support::refuses(ErrorCode::kInvalidArgument,
                                        "0 block counts were given for " + std::string(pairs) + "a group of " +
                                            std::to_string(ranks) + "; give it one for each " + each);
      };
      EXPECT_THAT([&] { world.reduce_scatter_v(all, {}).wait(); }, refused("", "rank."));
      EXPECT_THAT([&] { world.all_gather_v(all, {}).wait(); }, refused("", "rank."));
      EXPECT_THAT([&] { world.gather_v(all, {}).wait(); }, refused("", "rank."));
      EXPECT_THAT([&] { world.scatter_v(all, {}).wait(); }, refused("", "rank."));
      EXPECT_THAT([&] { world.all_to_all_v(input.data(), all, {}).wait(); }, refused("the pairs of ", "pair."));
      EXPECT_THAT(values, testing::Each(7.0F));
      world.barrier().wait();  // the group is none the worse for it
    });
  }
}

TEST(GroupErrors, BadArgumentsAreRefusedBeforeAnythingIsSent) {
  run_ranks(2, [](World& world) {
    std::vector<float> values(3);
    const auto refused = [&](const std::function<void()>& call, const char* why) {
      try {
        call();
        ADD_FAILURE() << "accepted: " << why;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
        EXPECT_THAT(error.what(), testing::HasSubstr(why));
      }
    };
    refused([&] { world.reduce_scatter(buffer_of(values)).wait(); }, "no multiple of the group's 2 ranks");
    refused([&] { world.all_gather_v(buffer_of(values), {1, 1}).wait(); }, "2 elements in all, the buffer 3");
    refused([&] { world.all_gather_v(buffer_of(values), {3}).wait(); },
            "1 block counts were given for a group of 2; give it one for each rank.");
    refused(
        [&] {
          world.all_gather_v(buffer_of(values), {5, static_cast<std::size_t>(-2)}).wait();
        },
        "no memory holds blocks with 18446744073709551614 elements; is that a negative number?");
    refused([&] { world.all_to_all(values.data(), buffer_of(values.data(), 2)).wait(); }, "overlap");
    refused([&] { world.all_to_all(nullptr, buffer_of(values.data(), 2)).wait(); }, "the input is a null pointer");
    refused([&] { world.broadcast(buffer_of(values), 2).wait(); }, "the root is 2 in a group of 2");
    refused([&] { world.broadcast(buffer_of(values), -1).wait(); }, "the root is -1 in a group of 2");
    refused([&] { world.send(buffer_of(values), -1).wait(); }, "there is no rank -1 in a group of 2");
    refused([&] { world.receive(buffer_of(values), 2).wait(); }, "there is no rank 2 in a group of 2");
    refused([&] { world.all_reduce({nullptr, 3, DataType::kFloat32}).wait(); }, "null pointer");
    refused([&] { world.all_reduce({values.data(), 3, DataType::kFloat32, Device::kCuda}).wait(); }, "device memory");
    refused([&] { world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "rnig"}).wait(); }, "'ring'");
    for (const std::size_t count : {static_cast<std::size_t>(-1), (std::size_t{1} << 62U) + 4}) {
      const Buffer endless = buffer_of(values.data(), count);
      const std::string why = "no memory holds a buffer of " + std::to_string(count) + " elements";
      for (const char* algorithm : {"auto", "naive", "recursive_doubling", "ring"}) {
        refused([&] { world.all_reduce(endless, ReduceOp::kSum, {.algorithm = algorithm}).wait(); }, why.c_str());
      }
      refused([&] { world.broadcast(endless).wait(); }, why.c_str());
      refused([&] { world.all_gather(endless).wait(); }, why.c_str());
      refused([&] { world.send(endless, 1 - world.rank()).wait(); }, why.c_str());
      refused([&] { world.receive(endless, 1 - world.rank()).wait(); }, why.c_str());
    }
    // The group is none the worse for it.
    world.all_reduce(buffer_of(values)).wait();
  });
  EXPECT_THAT([] { run_threads(0, [](World&) {}); },
              testing_support::refuses(ErrorCode::kInvalidArgument, "A world of 0 threads was asked for; at least 1."));
}

/// As who reads them from a file may have it: casts, and the rest of a deadline that has passed.
TEST(GroupErrors, NumbersThatNameNothingAreRefusedBeforeAnythingIsSent) {
  for (const int ranks : {1, 2}) {
    run_ranks(ranks, [](World& world) {
      std::vector<float> values(8, 7.0F);
      const Buffer buffer = buffer_of(values);
      const auto refused = [](const char* why) { return testing_support::refuses(ErrorCode::kInvalidArgument, why); };
      const char* const no_type = "there is no data type of number 77; name one of DataType's.";
      const auto type = static_cast<DataType>(77);
      const Buffer untyped{values.data(), values.size(), type};
      EXPECT_THAT([&] { world.all_reduce(untyped).wait(); }, refused(no_type));
      EXPECT_THAT([&] { world.all_gather(untyped).wait(); }, refused(no_type));
      EXPECT_THAT([&] { world.send(untyped, world.size() - 1 - world.rank()).wait(); }, refused(no_type));
      EXPECT_THAT([&] { world.algorithm_for(Collective::kAllReduce, 8, {}, type); }, refused(no_type));
      EXPECT_THAT([&] { predicted_ms(world, Collective::kAllReduce, 8, {}, type); }, refused(no_type));
      EXPECT_THAT([&] { world.algorithm_for(static_cast<Collective>(77), 8); },
                  refused("there is no collective of number 77; name one of Collective's."));
      EXPECT_THAT([&] { world.reduce_scatter(buffer, static_cast<ReduceOp>(77)).wait(); },
                  refused("reduce_scatter: there is no operator of number 77; name one of ReduceOp's."));
      EXPECT_THAT([&] { world.barrier({.reduction = static_cast<Reduction>(77)}).wait(); },
                  refused("barrier: there is no reduction of number 77; name one of Reduction's."));
      EXPECT_THAT([&] { world.barrier({.timeout = std::chrono::milliseconds(-5)}).wait(); },
                  refused("barrier: the timeout is -5 ms; give it more than 0, or 0 for that of LOCKSTEP_TIMEOUT."));
      EXPECT_THAT(values, testing::Each(7.0F));
      world.barrier().wait();  // the group is none the worse for it
    });
  }
}

}  // namespace lockstep
