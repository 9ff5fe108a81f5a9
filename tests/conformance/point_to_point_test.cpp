// Messages from one rank to another, on every kind of world: alone, all at once, among collectives; and what is said
// when the other does not come.
#include "tests/conformance/either_memory.h"
#include "tests/conformance/known_values.h"
#include "tests/conformance/on_every_setting.h"
#include "transport/tcp/hmac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::conformance {

namespace {

using std::chrono::milliseconds;

/// Where there is somebody to send to.
class PointToPointMessages : public OnEverySetting {};
std::vector<Setting> settings_of_several() {
  std::vector<Setting> settings = every_setting();
  std::erase_if(settings, [](const Setting& setting) { return setting.ranks < 2; });
  return settings;
}
INSTANTIATE_TEST_SUITE_P(On, PointToPointMessages, testing::ValuesIn(settings_of_several()),
                         testing::PrintToStringParamName());

/// More than any stream holds, and no multiple of anything.
constexpr std::size_t kMany = 3'000'001;

std::string told(const std::function<void()>& does) {
  try {
    does();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_P(PointToPointMessages, GoRoundARing) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const int next = (world.rank() + 1) % world.size();
    const int before = (world.rank() + world.size() - 1) % world.size();
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1009}, kMany}) {
      std::vector<std::int32_t> sent = message(world.rank(), next, count);
      std::vector<std::int32_t> got(count);
      Pending sending = world.send(buffer_of(sent), next);
      world.receive(buffer_of(got), before).wait();
      sending.wait();
      ASSERT_EQ(got, message(before, world.rank(), count)) << count;
    }
  });
}

/// Round the ring, from and into memory of the group and any other, an empty message too.
TEST_P(PointToPointMessages, AreOfAnyTypeInAnyMemory) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const int ranks = world.size();
    const int next = (world.rank() + 1) % ranks;
    const int before = (world.rank() + ranks - 1) % ranks;
    for (const DataType dtype : kDataTypes) {
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1009}, std::size_t{100'003}}) {
        const std::vector<std::size_t> counts(static_cast<std::size_t>(ranks * ranks), count);
        const auto carried = [&](int from, int to) { return block_of(from, to, ranks, counts, dtype); };
        for (const auto& [sends_registered, receives_registered] :
             {std::pair(false, true), std::pair(true, false), std::pair(true, true), std::pair(false, false)}) {
          EitherMemory sent(world, sends_registered, carried(world.rank(), next), dtype);
          EitherMemory got(world, receives_registered, count, dtype);
          Pending sending = world.send(sent.buffer(), next);
          world.receive(got.buffer(), before).wait();
          sending.wait();
          ASSERT_TRUE(got.holds(carried(before, world.rank()))) << count << " " << to_string(dtype);
          ASSERT_TRUE(sent.holds(carried(world.rank(), next))) << count << " " << to_string(dtype);
        }
      }
    }
  });
}

/// Everybody sends to everybody before it receives, and waits for the last first.
TEST_P(PointToPointMessages, AllPairsAtOnce) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const std::size_t count = kMany / 10;
    std::vector<std::vector<std::int32_t>> sent(static_cast<std::size_t>(world.size()));
    std::vector<std::vector<std::int32_t>> got(static_cast<std::size_t>(world.size()));
    std::vector<Pending> pending;
    for (int peer = 0; peer < world.size(); ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      sent[at] = message(world.rank(), peer, count);
      got[at].resize(count);
      if (peer == world.rank()) continue;
      pending.push_back(world.send(buffer_of(sent[at]), peer));
      pending.push_back(world.receive(buffer_of(got[at]), peer));
    }
    while (!pending.empty()) {
      pending.back().wait();
      pending.pop_back();
    }
    EXPECT_TRUE(world.progress()) << "nothing is left under way";
    for (int peer = 0; peer < world.size(); ++peer) {
      if (peer == world.rank()) continue;
      EXPECT_EQ(got[static_cast<std::size_t>(peer)], message(peer, world.rank(), count));
    }
  });
}

/// One side waits in a message, the other in a collective, and each needs what the other has begun.
TEST_P(PointToPointMessages, AndCollectivesDoNotWaitForEachOther) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    for (int round = 0; round < 5; ++round) {
      std::vector<std::int32_t> values(100'003, 1);
      std::vector<std::int32_t> big = message(0, 1, kMany);
      Pending sum;
      Pending passed;
      if (world.rank() == 0) {
        passed = world.send(buffer_of(big), 1);
        world.all_reduce(buffer_of(values)).wait();
      } else if (world.rank() == 1) {
        std::fill(big.begin(), big.end(), 0);
        sum = world.all_reduce(buffer_of(values));
        world.receive(buffer_of(big), 0).wait();
      } else {
        sum = world.all_reduce(buffer_of(values));
      }
      sum.wait();
      passed.wait();
      ASSERT_THAT(values, testing::Each(world.size()));
      ASSERT_EQ(big, message(0, 1, kMany));
    }
  });
}

/// A rank moves all that is under way whatever it waits for: its peer may come to that only then.
TEST_P(PointToPointMessages, AndCollectivesMoveWhileTheOtherIsWaitedFor) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    std::vector<std::int32_t> values(100'003, 1);
    std::vector<std::int32_t> big(kMany);
    const std::vector<std::int32_t> sent = message(0, 1, kMany);
    if (world.rank() == 0) {
      big = sent;
      Pending passed = world.send(buffer_of(big), 1);
      world.all_reduce(buffer_of(values)).wait();
      world.all_reduce(buffer_of(values)).wait();
      passed.wait();
      world.send(buffer_of(big), 1).wait();
    } else if (world.rank() == 1) {
      world.receive(buffer_of(big), 0).wait();
      ASSERT_EQ(big, sent);
      world.all_reduce(buffer_of(values)).wait();
      Pending sum = world.all_reduce(buffer_of(values));
      std::fill(big.begin(), big.end(), 0);
      world.receive(buffer_of(big), 0).wait();
      ASSERT_EQ(big, sent);
      sum.wait();
    } else {
      world.all_reduce(buffer_of(values)).wait();
      world.all_reduce(buffer_of(values)).wait();
    }
    ASSERT_THAT(values, testing::Each(world.size() * world.size()));
  });
}

TEST_P(PointToPointMessages, WithinAPartOfTheWorld) {
  if (GetParam().medium == Medium::kTcp && !tcp::hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  run_world(GetParam(), [](Member& member) {
    const Group half = member.world.split(member.world.rank() % 2);
    if (half.size() == 1) return;
    std::vector<std::int32_t> values{member.world.rank()};
    if (half.rank() == 0) half.send(buffer_of(values), 1).wait();
    if (half.rank() == 1) half.receive(buffer_of(values), 0).wait();
    EXPECT_EQ(values.front(), half.rank() < 2 ? half.world_ranks()[0] : member.world.rank());
  });
}

TEST_P(PointToPointMessages, WrongArgumentsAreRefusedAndDoNoHarm) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    std::vector<std::int32_t> values(1);
    const int size = world.size();
    const std::string who = "Rank " + std::to_string(world.rank()) + ": ";
    EXPECT_EQ(told([&] { world.send(buffer_of(values), world.rank()).wait(); }),
              who + "send: a rank sends nothing to itself.");
    EXPECT_EQ(
        told([&] { world.receive(buffer_of(values), size).wait(); }),
        who + "receive: there is no rank " + std::to_string(size) + " in a group of " + std::to_string(size) + ".");
    const Buffer nowhere{nullptr, 1, DataType::kInt32};
    EXPECT_EQ(told([&] { world.send(nowhere, world.rank() == 0 ? 1 : 0).wait(); }),
              who + "send: the buffer is a null pointer.");
    world.barrier().wait();
  });
}

TEST_P(PointToPointMessages, AMismatchIsToldToAll) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    std::vector<std::int32_t> values(10);
    std::string words;
    if (world.rank() == 0) words = told([&] { world.send(buffer_of(values.data(), 3), 1).wait(); });
    if (world.rank() == 1) words = told([&] { world.receive(buffer_of(values), 0).wait(); });
    if (words.empty()) words = told([&] { world.barrier().wait(); });
    EXPECT_THAT(words, testing::HasSubstr("rank 1 receives 10 int32 where rank 0 sends 3 int32"));
  });
}

TEST_P(PointToPointMessages, ADeadlineNamesWhoDidNotSend) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    std::vector<std::int32_t> values(1);
    if (world.rank() != 1) {
      EXPECT_THAT(told([&] { world.barrier().wait(); }), testing::HasSubstr("rank 1 waited 0.1 s for rank 0"));
      return;
    }
    const OperationOptions options{.purpose = "activations of block 3", .timeout = milliseconds(100)};
    EXPECT_EQ(told([&] { world.receive(buffer_of(values), 0, options).wait(); }),
              "Rank 1: receive #1 from rank 0, activations of block 3: rank 1 waited 0.1 s for rank 0, which did not "
              "send it.");
  });
}

TEST_P(PointToPointMessages, WhatWasSentBeforeARankLeftArrives) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    std::vector<std::int32_t> values = message(0, 1, 1000);
    if (world.rank() == 0) world.send(buffer_of(values), 1).wait();
    if (world.rank() != 1) return;
    std::vector<std::int32_t> got(values.size());
    world.receive(buffer_of(got), 0).wait();
    EXPECT_EQ(got, values);
    EXPECT_THAT(told([&] { world.receive(buffer_of(got), 0).wait(); }),
                testing::HasSubstr("rank 0 has left the group"));
  });
}

/// Once that is gone, which leaves behind what it never received.
TEST_P(PointToPointMessages, WhatWasSentArrivesThoughWhoLeftTookNotAll) {
  constexpr std::size_t kMebibyte = (1 << 20) / sizeof(std::int32_t);
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    std::vector<std::int32_t> values = message(0, 1, kMebibyte);
    std::vector<std::int32_t> unwanted(1);
    if (world.rank() == 1) world.send(buffer_of(unwanted), 0).wait();
    world.barrier().wait();
    if (world.rank() == 0) world.send(buffer_of(values), 1).wait();
    if (world.rank() != 1) return;
    std::this_thread::sleep_for(milliseconds(200));
    std::vector<std::int32_t> got(values.size());
    world.receive(buffer_of(got), 0).wait();
    EXPECT_EQ(got, values);
    EXPECT_THAT(told([&] { world.receive(buffer_of(got), 0).wait(); }),
                testing::HasSubstr("rank 0 has left the group"));
  });
}

TEST(PointToPointAlone, HasNobodyToTalkTo) {
  const World world = World::alone();
  std::vector<std::int32_t> values(1);
  EXPECT_EQ(told([&] { world.send(buffer_of(values), 0).wait(); }), "Rank 0: send: a rank sends nothing to itself.");
  EXPECT_EQ(told([&] { world.receive(buffer_of(values), 1).wait(); }),
            "Rank 0: receive: there is no rank 1 in a group of 1.");
}

}  // namespace lockstep::conformance
