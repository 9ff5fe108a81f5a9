// What a call of a group refuses before anything is sent.
#include <lockstep/prediction.h>
#include <lockstep/world.h>

#include "base/error_for_tests.h"
#include "group/errors_for_tests.h"
#include "tests/conformance/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace lockstep {

using testing_support::errors_on;
using testing_support::run_ranks;

TEST(GroupArguments, ASchedulesTextThatDoesNotWorkIsRefused) {
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

TEST(GroupArguments, VendorNeedsALibraryBeneath) {
  EXPECT_THAT(errors_on(2,
                        [](World& world) {
                          std::vector<float> values(10);
                          world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "vendor"}).wait();
                        }),
              testing::Each(testing::ContainsRegex(
                  "^Rank [01]: all_reduce: 'vendor' hands a collective to the library beneath the transport, and there "
                  "is none")));
}

TEST(GroupArguments, WhatIsWrongWithAnAlgorithmIsSaidByRankAndOperation) {
  run_ranks(2, [](World& world) {
    float value = 1;
    const std::string rank = "Rank " + std::to_string(world.rank());
    const auto refused = [&](const std::string& what, const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "accepted: " << what;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
        EXPECT_EQ(error.rank(), world.rank());
        EXPECT_EQ(error.context().operation, "broadcast");
        EXPECT_THAT(error.what(), testing::StartsWith(rank + ": broadcast: " + what));
      }
    };
    const OperationOptions unknown{.algorithm = "rign"};
    const OperationOptions other{.algorithm = "naive"};
    const std::string none = "There is no algorithm 'rign'. Did you mean 'ring'?";
    refused(none, [&] { world.broadcast(buffer_of(&value, 1), 0, unknown).wait(); });
    refused(none, [&] { (void)world.algorithm_for(Collective::kBroadcast, 4, unknown); });
    refused("The algorithm 'naive' does no broadcast", [&] { world.broadcast(buffer_of(&value, 1), 0, other).wait(); });
    refused("The algorithm 'naive' does no broadcast",
            [&] { (void)world.algorithm_for(Collective::kBroadcast, 4, other); });
    world.broadcast(buffer_of(&value, 1)).wait();  // nobody has left
  });
}

/// No list is not a list of equal blocks: with it, less may lie in the input than the output has room for.
TEST(GroupArguments, BlockCountsAreNeverNone) {
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

TEST(GroupArguments, BadArgumentsAreRefusedBeforeAnythingIsSent) {
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

TEST(GroupArguments, ElementsThatAreNotAlignedAreRefused) {
  for (const int ranks : {1, 2}) {
    run_ranks(ranks, [](World& world) {
      std::vector<float> values(4, 7.0F);
      std::vector<float> received(2);
      auto* const odd = reinterpret_cast<unsigned char*>(values.data()) + 1;
      const auto refused = [](const std::string& what) {
        return testing_support::refuses(
            ErrorCode::kInvalidArgument,
            what + " begins at an address that is no multiple of 4, as float32 elements ask; align it.");
      };
      EXPECT_THAT([&] { world.all_reduce({odd, 2, DataType::kFloat32}).wait(); }, refused("all_reduce: the buffer"));
      EXPECT_THAT([&] { world.all_to_all(odd, buffer_of(received)).wait(); }, refused("all_to_all: the input"));
      EXPECT_THAT(
          [&] {
            world.send({odd, 2, DataType::kFloat32}, world.size() - 1 - world.rank()).wait();
          },
          refused("send: the buffer"));
      EXPECT_THAT(values, testing::Each(7.0F));
      world.all_reduce({odd, 0, DataType::kFloat32}).wait();  // no element begins there
      world.broadcast({odd, 2, DataType::kUInt8}).wait();     // and bytes may begin anywhere
    });
  }
}

/// As who reads them from a file may have it: casts, and the rest of a deadline that has passed.
TEST(GroupArguments, NumbersThatNameNothingAreRefusedBeforeAnythingIsSent) {
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
