#include "transport/mpi/streams.h"

#include "transport/mpi/calls_for_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <vector>

namespace lockstep::mpi {

namespace {

/// What MPI was asked for.
struct Asked {
  std::vector<std::span<std::byte>> given;  ///< memory, by all tests: it is MPI's for ever
  int given_up = 0;
};
Asked& asked() {
  static auto* const kAsked = new Asked;
  return *kAsked;
}

/// Nothing that is begun with it is ever complete, and asking for it is an error; so its memory stays MPI's.
Calls calls_that_keep_memory() {
  asked().given_up = 0;
  Calls calls = calls_that_bring_nothing();
  calls.send = [](Request*, const Outgoing* message) -> const char* {
    asked().given.push_back({static_cast<std::byte*>(const_cast<void*>(message->data)), message->bytes});
    return nullptr;
  };
  calls.receive = [](Request*, void* data, std::size_t bytes, int, int) -> const char* {
    asked().given.push_back({static_cast<std::byte*>(data), bytes});
    return nullptr;
  };
  calls.test = [](Request*, int*, std::size_t*, int*) -> const char* { return "MPI says: it is gone"; };
  const auto give_up = [](Request*) {
    ++asked().given_up;
    return 0;
  };
  calls.cancel_receive = give_up;
  calls.forget_send = give_up;
  return calls;
}

/// What was sent and waits for its receiver: MPI holds the synchronous ones until then.
struct Held {
  std::vector<std::size_t> bytes;
  std::size_t taken = 0;  ///< of them, from the first on
};
Held& held() {
  static Held messages;
  return messages;
}

/// A request's value is its message's number, from 1 on; 0 is one that is complete.
Calls calls_that_hold_messages() {
  held() = {};
  Calls calls = calls_that_bring_nothing();
  calls.send = [](Request* request, const Outgoing* message) -> const char* {
    held().bytes.push_back(message->bytes);
    request->value = reinterpret_cast<void*>(message->synchronous != 0 ? held().bytes.size() : 0);
    return nullptr;
  };
  calls.test = [](Request* request, int* complete, std::size_t*, int*) -> const char* {
    *complete = reinterpret_cast<std::size_t>(request->value) <= held().taken ? 1 : 0;
    return nullptr;
  };
  return calls;
}

constexpr int kControlTag = 7;

/// What a peer tells this rank, once, goes where it is waited for; no data ever come.
Calls calls_that_tell_once() {
  static void* place = nullptr;
  static bool has_told = false;
  has_told = false;
  Calls calls = calls_that_bring_nothing();
  calls.receive = [](Request* request, void* data, std::size_t, int, int tag) -> const char* {
    if (tag == kControlTag) request->value = place = data;
    return nullptr;
  };
  calls.test = [](Request* request, int* complete, std::size_t*, int*) -> const char* {
    const bool tells = place != nullptr && request->value == place && !has_told;
    *complete = tells ? 1 : 0;
    if (!tells) return nullptr;
    constexpr std::array<std::uint32_t, 2> kToldOneByte{5, 1};
    std::memcpy(place, kToldOneByte.data(), sizeof kToldOneByte);
    has_told = true;
    return nullptr;
  };
  return calls;
}

std::size_t send_bytes(Lane& lane, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  const iovec span{data.data(), data.size()};
  return lane.send({&span, 1});
}

/// None was freed and given out again, and MPI may still write to it.
void expect_kept() {
  std::vector<const std::byte*> places;
  for (const std::span<std::byte> memory : asked().given) places.push_back(memory.data());
  std::ranges::sort(places);
  ASSERT_EQ(std::ranges::adjacent_find(places), places.end());
  for (const std::span<std::byte> memory : asked().given) std::ranges::fill(memory, std::byte{1});
}

}  // namespace

TEST(MpiStreams, WhatCannotBeGivenUpKeepsItsMemory) {
  const Calls calls = calls_that_keep_memory();
  const Process process(calls, std::chrono::milliseconds(10));
  for (int lane = 1; lane <= 3; ++lane) {
    EXPECT_THROW((void)Lane(process, 1, 5).has_bytes(), Error);
    EXPECT_EQ(asked().given_up, 2 * lane);
  }
  expect_kept();
}

/// Whatever MPI says by then.
TEST(MpiStreams, WhatIsBeingSentIsForgotten) {
  const Calls calls = calls_that_keep_memory();
  const Process process(calls, std::chrono::milliseconds(10));
  std::array<char, 100> text{};
  const iovec span{text.data(), text.size()};
  for (int lane = 1; lane <= 3; ++lane) {
    EXPECT_EQ(Lane(process, 1, 5).send({&span, 1}), 0U);
    EXPECT_EQ(asked().given_up, lane);
  }
  expect_kept();
}

/// However few bytes a message has, and MPI has all that went.
TEST(MpiStreams, WhatFitsIsBuffered) {
  const Calls calls = calls_that_hold_messages();
  const Process process(calls, std::chrono::milliseconds(10));
  Lane lane(process, 1, 5, 1000);
  for (int times = 0; times < 50; ++times) ASSERT_EQ(send_bytes(lane, 20), 20U) << times;
  EXPECT_EQ(held().bytes, std::vector<std::size_t>(50, 20));
  EXPECT_EQ(lane.bytes_sent(), 1000U);
  EXPECT_EQ(send_bytes(lane, 20), 0U);
  EXPECT_FALSE(lane.has_room());
  held().taken = 51;
  EXPECT_TRUE(lane.has_room());
  EXPECT_EQ(send_bytes(lane, 20), 20U) << "which had waited";
  EXPECT_EQ(send_bytes(lane, 1000), 1000U);
  EXPECT_EQ(send_bytes(lane, 1), 0U);
}

/// The last one is taken after the others.
TEST(MpiStreams, WhatIsBufferedGoesInSmallChunksOfWhichTheLastIsAwaited) {
  const Calls calls = calls_that_hold_messages();
  const Process process(calls, std::chrono::milliseconds(10));
  constexpr std::size_t kChunk = Lane::kBufferedChunkBytes;
  Lane lane(process, 1, 5, 3 * kChunk);
  EXPECT_EQ(send_bytes(lane, 2 * kChunk + 1), 2 * kChunk + 1);
  EXPECT_EQ(held().bytes, (std::vector<std::size_t>{kChunk, kChunk, 1}));
  held().taken = 2;
  EXPECT_EQ(send_bytes(lane, kChunk), 0U);
  held().taken = 4;
  EXPECT_EQ(send_bytes(lane, kChunk), kChunk);
  EXPECT_EQ(send_bytes(lane, 3 * kChunk), 3 * kChunk);
}

/// Nor does what would fit pass it.
TEST(MpiStreams, WhatDoesNotFitIsSentOnceTheReceiverTakesIt) {
  const Calls calls = calls_that_hold_messages();
  const Process process(calls, std::chrono::milliseconds(10));
  Lane lane(process, 1, 5, 1000);
  EXPECT_EQ(send_bytes(lane, 3 * Lane::kChunkBytes), 0U);
  EXPECT_EQ(held().bytes, std::vector<std::size_t>(2, Lane::kChunkBytes));
  held().taken = 1;
  EXPECT_EQ(send_bytes(lane, 3 * Lane::kChunkBytes), Lane::kChunkBytes);
  EXPECT_EQ(send_bytes(lane, Lane::kChunkBytes + 500), 0U);
  held().taken = 2;
  EXPECT_EQ(send_bytes(lane, Lane::kChunkBytes + 500), Lane::kChunkBytes);
  EXPECT_EQ(send_bytes(lane, 500), 0U) << "the receiver has not begun to take it";
  held().taken = 3;
  EXPECT_EQ(send_bytes(lane, 500), 500U);
  EXPECT_EQ(held().bytes, (std::vector<std::size_t>{Lane::kChunkBytes, Lane::kChunkBytes, 500}));
}

TEST(MpiStreams, WhatIsBufferedKeepsItsMemoryWhereItMayStillGo) {
  const Calls calls = calls_that_keep_memory();
  const Process process(calls, std::chrono::milliseconds(10));
  constexpr std::size_t kBytes = 2 * Lane::kBufferedChunkBytes;
  for (int lane = 1; lane <= 3; ++lane) {
    {
      Lane buffering(process, 1, 5, kBytes);
      EXPECT_EQ(send_bytes(buffering, kBytes), kBytes);
    }
    EXPECT_EQ(asked().given_up, 2 * lane);
  }
  expect_kept();
}

TEST(MpiStreams, AWordThatMayStillComeKeepsItsMemory) {
  const Calls calls = calls_that_keep_memory();
  const Process process(calls, std::chrono::milliseconds(10));
  for (int times = 0; times < 3; ++times) const Control control(process, 1, 1, 5);
  EXPECT_EQ(asked().given_up, 3);
  expect_kept();
}

/// Ranks of which each waits for the other tell what they wait in at the same time, and then hear it.
TEST(MpiStreams, WhoWaitsWakesWhenAPeerTellsSomething) {
  const Calls calls = calls_that_tell_once();
  const Process process(calls, std::chrono::milliseconds(10));
  Peers peers(process, 0, {0, 1}, kControlTag);
  Streams streams(process, peers, {0, 1}, {.tag = 5});
  const ByteStreams::Need need{.peer = 1, .room = false, .bytes = true};
  const auto wait = [&](std::chrono::milliseconds time) {
    return streams.wait({&need, 1}, std::chrono::steady_clock::now() + time);
  };
  EXPECT_TRUE(wait(std::chrono::seconds(2)));
  EXPECT_EQ(peers.controls()[1]->told().size(), 1U);
  EXPECT_FALSE(wait(std::chrono::milliseconds(20))) << "what was told before wakes nobody";
}

}  // namespace lockstep::mpi
