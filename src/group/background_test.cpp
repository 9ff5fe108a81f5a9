// Operations that move on while nobody is in the group.
#include "group/thread_world.h"

#include "base/file_descriptor.h"
#include "base/limit_for_tests.h"
#include "transport/tcp/hmac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <latch>
#include <vector>

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// More than all buffers on the way take in.
constexpr std::size_t kMany = std::size_t{12} << 20;

using Begins = std::function<Pending(World&, std::vector<float>& values)>;

Begins begins_sum(bool in_background) {
  return [in_background](World& world, std::vector<float>& values) {
    return world.all_reduce(buffer_of(values), ReduceOp::kSum,
                            {.timeout = seconds(60), .in_background = in_background});
  };
}
Begins begins_send(bool in_background) {
  return [in_background](World& world, std::vector<float>& values) {
    return world.send(buffer_of(values), 1, {.timeout = seconds(60), .in_background = in_background});
  };
}
Begins begins_receive() {
  return [](World& world, std::vector<float>& values) {
    return world.receive(buffer_of(values), 1, {.timeout = seconds(60), .in_background = true});
  };
}

/// Rank 0 begins something with ones and then does not touch its group until rank 1, which waits for its part in that,
/// has been heard of.
void away_while_the_other_waits(const Begins& begins, const std::function<void(World&)>& waits,
                                const std::function<void(World&, Pending)>& comes_back) {
  std::promise<void> begun;
  std::promise<void> waited;
  detail::run_threads_over_tcp(2, [&](World& world) {
    if (world.rank() == 1) {
      begun.get_future().wait();
      waits(world);
      waited.set_value();
      return;
    }
    std::vector<float> values(kMany, 1);
    Pending begun_one = begins(world, values);
    begun.set_value();
    waited.get_future().wait();
    comes_back(world, std::move(begun_one));
  });
}

void expect_complete(World& world, Pending begun) {
  EXPECT_TRUE(begun.done());
  EXPECT_TRUE(world.progress());
}

TEST(Background, AnOperationIsCompletedThoughItsCallerComputes) {
  away_while_the_other_waits(
      begins_sum(true),
      [](World& world) {
        std::vector<float> values(kMany, 2);
        world.all_reduce(buffer_of(values), ReduceOp::kSum, {.timeout = seconds(60)}).wait();
        EXPECT_EQ(values, std::vector<float>(kMany, 3));
      },
      expect_complete);
}

TEST(Background, SoIsASend) {
  away_while_the_other_waits(
      begins_send(true),
      [](World& world) {
        std::vector<float> values(kMany, 2);
        world.receive(buffer_of(values), 0, {.timeout = seconds(60)}).wait();
        EXPECT_EQ(values, std::vector<float>(kMany, 1));
      },
      expect_complete);
}

TEST(Background, SoIsAReceive) {
  std::vector<float> received(kMany, 1);
  away_while_the_other_waits(
      [&](World& world, std::vector<float>& /*values*/) { return begins_receive()(world, received); },
      [](World& world) {
        std::vector<float> values(kMany, 2);
        world.send(buffer_of(values), 0, {.timeout = seconds(60)}).wait();
      },
      expect_complete);
  EXPECT_EQ(received, std::vector<float>(kMany, 2));
}

/// The sum waits for rank 1, which comes to it when it has all of the message.
TEST(Background, SoIsASendBesideASumThatWaits) {
  std::vector<float> summed(kMany / 100, 1);
  Pending sum;
  away_while_the_other_waits(
      [&](World& world, std::vector<float>& values) {
        sum = begins_sum(true)(world, summed);
        return begins_send(true)(world, values);
      },
      [](World& world) {
        std::vector<float> values(kMany, 2);
        world.receive(buffer_of(values), 0, {.timeout = seconds(60)}).wait();
        EXPECT_EQ(values, std::vector<float>(kMany, 1));
        values.resize(kMany / 100);
        world.all_reduce(buffer_of(values), ReduceOp::kSum, {.timeout = seconds(60)}).wait();
        EXPECT_EQ(values, std::vector<float>(kMany / 100, 2));
      },
      [&](World& world, Pending sent) {
        EXPECT_TRUE(sent.done());
        EXPECT_TRUE(sum.done());
        EXPECT_TRUE(world.progress());
        sum = {};
      });
}

TEST(Background, WithoutItThePeerWaitsInVain) {
  away_while_the_other_waits(
      begins_sum(false),
      [](World& world) {
        std::vector<float> values(kMany, 2);
        EXPECT_THAT([&] { world.all_reduce(buffer_of(values), ReduceOp::kSum, {.timeout = milliseconds(300)}).wait(); },
                    testing::Throws<Error>(testing::Property(&Error::code, ErrorCode::kTimeout)));
      },
      [](World& /*world*/, Pending sum) { EXPECT_THROW(sum.wait(), Error); });
}

TEST(Background, NorDoesAReceiverHearMoreThanFitsOnTheWay) {
  away_while_the_other_waits(
      begins_send(false),
      [](World& world) {
        std::vector<float> values(kMany, 2);
        EXPECT_THAT([&] { world.receive(buffer_of(values), 0, {.timeout = milliseconds(300)}).wait(); },
                    testing::Throws<Error>(testing::Property(&Error::code, ErrorCode::kTimeout)));
      },
      [](World& /*world*/, Pending sent) { EXPECT_THROW(sent.wait(), Error); });
}

TEST(Background, AnErrorThereIsThrownByWhatComesNext) {
  away_while_the_other_waits(
      begins_sum(true),
      [](World& world) {
        std::vector<float> values(kMany / 2, 2);
        EXPECT_THAT([&] { world.all_reduce(buffer_of(values)).wait(); },
                    testing::Throws<Error>(testing::Property(&Error::code, ErrorCode::kMismatch)));
      },
      [](World& world, Pending sum) {
        EXPECT_THAT([&] { sum.wait(); }, testing::Throws<Error>(testing::Property(&Error::code, ErrorCode::kMismatch)));
        EXPECT_THROW(world.barrier().wait(), Error);
      });
}

TEST(Background, SoIsAnErrorOfAMessage) {
  away_while_the_other_waits(
      begins_receive(),
      [](World& world) {
        std::vector<float> values(kMany / 2, 2);
        EXPECT_THROW(world.send(buffer_of(values), 0, {.timeout = seconds(60)}).wait(), Error);
      },
      [](World& world, Pending received) {
        EXPECT_THAT([&] { received.wait(); },
                    testing::Throws<Error>(testing::Property(&Error::code, ErrorCode::kMismatch)));
        EXPECT_THROW(world.barrier().wait(), Error);
      });
}

/// Rank 3 waits for rank 2, whose thread waits for rank 1 while it computes itself.
TEST(Background, WhoComputesMeanwhileIsNotBlamedForOneThatKeepsAll) {
  std::latch begun(2);
  std::promise<void> told;
  const std::shared_future<void> is_told = told.get_future().share();
  detail::run_threads_over_tcp(4, [&](World& world) {
    std::vector<float> values(kMany / 10, 1);
    const auto begin = [&](milliseconds patience) {
      return world.all_reduce(buffer_of(values), ReduceOp::kSum,
                              {.algorithm = "ring", .timeout = patience, .in_background = true});
    };
    if (world.rank() == 1) return is_told.wait();
    if (world.rank() == 3) {
      begun.wait();
      EXPECT_THAT([&] { begin(milliseconds(300)).wait(); },
                  testing::Throws<Error>(testing::AllOf(testing::Property("code", &Error::code, ErrorCode::kTimeout),
                                                        testing::Property("peer", &Error::peer, 1))));
      return told.set_value();
    }
    Pending sum = begin(seconds(60));
    begun.count_down();
    is_told.wait();
    EXPECT_THROW(sum.wait(), Error);
  });
}

TEST(Background, CallsOfAllKindsGoOnBesideIt) {
  detail::run_threads_over_tcp(3, [](World& world) {
    constexpr std::size_t kFew = 100'000;
    std::array<std::vector<double>, 4> values;
    for (int round = 0; round < 20; ++round) {
      std::vector<Pending> sums;
      for (auto& one : values) {
        one.assign(kFew, world.rank() + round);
        sums.push_back(world.all_reduce(buffer_of(one), ReduceOp::kSum, {.in_background = round % 3 != 0}));
        world.progress();
      }
      int token = world.rank();
      Pending sent = world.send(buffer_of(&token, 1), (world.rank() + 1) % 3);
      int received = -1;
      world.receive(buffer_of(&received, 1), (world.rank() + 2) % 3).wait();
      sent.wait();
      EXPECT_EQ(received, (world.rank() + 2) % 3);
      sums.back().wait();
      for (auto& sum : sums) EXPECT_TRUE(sum.done());
      for (const auto& one : values) EXPECT_EQ(one, std::vector<double>(kFew, 3 + 3 * round));
    }
  });
}

TEST(Background, AGroupMayGoWhileItSleeps) {
  if (!tcp::hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  for (int round = 0; round < 10; ++round) {
    detail::run_threads_over_tcp(2, [](World& world) {
      std::vector<float> values(kMany / 100, 1);
      Group half = world.split(0);
      world.all_reduce(buffer_of(values), ReduceOp::kSum, {.in_background = true}).wait();
      half.all_reduce(buffer_of(values), ReduceOp::kSum, {.in_background = true}).wait();
      EXPECT_EQ(values, std::vector<float>(values.size(), 4));
    });
  }
}

TEST(Background, WithoutDescriptorsForItOperationsCompleteAllTheSame) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  std::promise<void> begun;
  detail::run_threads_over_tcp(2, [&](World& world) {
    std::vector<float> first(kMany / 10, 1);
    std::vector<float> second(kMany / 100, 2);
    std::vector<Pending> sums;
    const auto begin = [&](bool in_background) {
      for (auto* const values : {&first, &second}) {
        sums.push_back(world.all_reduce(buffer_of(*values), ReduceOp::kSum, {.in_background = in_background}));
      }
    };
    if (world.rank() == 0) {
      const FileDescriptor next(::dup(0));  // all below it are taken, and it is the first that may not be
      const testing_support::Limit descriptors(RLIMIT_NOFILE, static_cast<rlim_t>(next.get()));
      EXPECT_NO_THROW(begin(true));
      begun.set_value();
    } else {
      begun.get_future().wait();
      begin(false);
    }
    for (Pending& sum : sums) sum.wait();
    EXPECT_EQ(first, std::vector<float>(first.size(), 2));
    EXPECT_EQ(second, std::vector<float>(second.size(), 4));
  });
}

TEST(Background, InMemoryItChangesNothing) {
  run_threads(2, [](World& world) {
    std::vector<float> values(1000, 1);
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.in_background = true}).wait();
    EXPECT_EQ(values, std::vector<float>(1000, 2));
  });
}

}  // namespace
}  // namespace lockstep
