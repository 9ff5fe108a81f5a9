#include "transport/shm/streams.h"

#include "transport/shm/pages.h"
#include "transport/shm/shm_transport.h"
#include "transport/shm/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::shm {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class ShmStreamsTest : public testing::Test {
 protected:
  ShmStreamsTest() {
    for (Host& host : thread_hosts(3)) {
      slots_ = host.slots;
      ranks_.push_back(create(std::move(host)));
    }
  }
  /// Far longer than the test may take: only what the peer does, once, although no look finds anything, ends the sleep.
  template <class Peer>
  void sleep_while(int rank, const Peer& peer) {
    bool is_done = false;
    slots_.get()[rank].sleep_until_roused(milliseconds(600'000), [&] {
      if (!std::exchange(is_done, true)) peer();
      return false;
    });
  }
  ByteStreams& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]->messages(); }
  void send_byte(int from, int to) {
    char byte = 'x';
    const iovec span{&byte, 1};
    ASSERT_EQ(of(from).send(to, std::span(&span, 1)), 1U);
  }
  bool wait_for_bytes(int rank, int peer, milliseconds patience) {
    const ByteStreams::Need need{.peer = peer, .room = false, .bytes = true};
    return of(rank).wait(std::span(&need, 1), steady_clock::now() + patience);
  }
  /// What rank 0 is told that waits for rank 1.
  std::string told() {
    try {
      return wait_for_bytes(0, 1, milliseconds(60'000)) ? "bytes" : "the deadline";
    } catch (const Error& error) {
      EXPECT_EQ(error.peer(), 1) << error.what();
      return error.what();
    }
  }

  std::shared_ptr<RankSlot> slots_;
  std::vector<std::unique_ptr<Transport>> ranks_;
};

}  // namespace

TEST_F(ShmStreamsTest, ASleeperIsWokenByWhatItNeedsOnly) {
  // Far longer than the test may take: only the byte ends it. The other rank's byte does not.
  send_byte(2, 0);
  bool woken = false;
  std::jthread sleeper([&] { woken = wait_for_bytes(0, 1, milliseconds(600'000)); });
  std::this_thread::sleep_for(milliseconds(30));
  send_byte(1, 0);
  sleeper.join();
  EXPECT_TRUE(woken);
}

TEST_F(ShmStreamsTest, WhoGivesOrTakesRousesItsPeer) {
  sleep_while(0, [&] { send_byte(1, 0); });
  sleep_while(1, [&] {
    char byte = 0;
    const iovec span{&byte, 1};
    EXPECT_EQ(of(0).receive(1, std::span(&span, 1)), 1U);
  });
}

TEST_F(ShmStreamsTest, ADeadlineEndsTheWait) { EXPECT_FALSE(wait_for_bytes(0, 1, milliseconds(5))); }

TEST_F(ShmStreamsTest, WhoeverWaitsForOneThatLeftIsTold) {
  ranks_[1].reset();
  EXPECT_THAT(told(), testing::HasSubstr("rank 1 has left the group"));
}

TEST_F(ShmStreamsTest, WhatWasGivenBeforeLeavingCounts) {
  send_byte(1, 0);
  ranks_[1].reset();
  EXPECT_EQ(told(), "bytes");
  EXPECT_TRUE(wait_for_bytes(0, 1, milliseconds(0))) << "for who only looks too";
}

TEST_F(ShmStreamsTest, WhoeverWaitsForSeveralIsToldOfEachThatLeft) {
  ranks_[1].reset();
  const std::vector<ByteStreams::Need> needs{{.peer = 2, .room = false, .bytes = true},
                                             {.peer = 1, .room = false, .bytes = true}};
  EXPECT_THAT([&] { of(0).wait(needs, steady_clock::now() + milliseconds(60'000)); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("rank 1 has left the group")));
}

/// Which told() expects to be rank 1's.
TEST_F(ShmStreamsTest, AFailureThatNamesNobodyIsItsOwnRanks) {
  ranks_[1]->fail({ErrorCode::kIo, "the disk is full"});
  EXPECT_EQ(told(), "the disk is full");
}

TEST_F(ShmStreamsTest, WhoeverWaitsIsToldWhatAnotherFailedOf) {
  ranks_[2]->fail({ErrorCode::kTransport, "rank 1 broke", {.peer = 1}});
  EXPECT_EQ(told(), "rank 1 broke");
}

/// Of many ranks they would be most of the memory that a group takes, and most of them never hear from each other.
TEST(ShmStreams, OfManyRanksTheFirstMessageToAPeerTakesMemoryAndNoneBefore) {
  constexpr int kRanks = 64;
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  std::vector<Host> hosts = thread_hosts(kRanks);
  std::byte* const memory = hosts.front().memory.front();
  // From where no huge page has what is staged too; the last buffer ends at 4 MiB and 64 times 132 KiB.
  const auto present_pages = [&] {
    std::vector<unsigned char> present(7 * kMiB / kPage);
    EXPECT_EQ(::mincore(memory + 6 * kMiB, 7 * kMiB, present.data()), 0);
    return std::count(present.begin(), present.end(), 1);
  };
  const std::unique_ptr<Transport> rank = create(std::move(hosts.front()));
  EXPECT_EQ(present_pages(), 0);
  char byte = 'x';
  const iovec span{&byte, 1};
  EXPECT_EQ(rank->messages().send(kRanks - 1, std::span(&span, 1)), 1U);
  EXPECT_GE(present_pages(), static_cast<std::ptrdiff_t>(sizeof(StreamBuffer) / kPage));
}

}  // namespace lockstep::shm
