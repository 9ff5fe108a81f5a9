#include "transport/shm/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <thread>

namespace lockstep::shm {

using std::chrono::milliseconds;

TEST(RankSlot, ProgressOrdersOperationsBeforeSteps) {
  RankSlot slot;
  slot.signal({.sequence = 3, .steps = 7});
  EXPECT_EQ(slot.progress(), (Progress{3, 7}));
  EXPECT_LT((Progress{3, 7}), (Progress{4, 0}));
  EXPECT_LT((Progress{3, 6}), (Progress{3, 7}));
}

TEST(RankSlot, AnnouncementsAreSeenOnceTheOperationIsEntered) {
  RankSlot slot;
  Announcement announcement;
  announcement.sequence = 1;
  announcement.count = 12;
  slot.announce(announcement);
  EXPECT_FALSE(slot.announcement(1));
  slot.signal({.sequence = 1, .steps = 0});
  ASSERT_TRUE(slot.announcement(1));
  EXPECT_EQ(slot.announcement(1)->count, 12U);
  EXPECT_FALSE(slot.announcement(2));
}

/// Its owner goes on meanwhile, and writes there what it announces eight operations later.
TEST(RankSlot, AnAnnouncementIsReadWholeOrNotAtAll) {
  RankSlot slot;
  constexpr std::uint64_t kLast = 2'000'000;
  std::jthread owner([&] {
    Announcement announcement;
    for (std::uint64_t sequence = 1; sequence <= kLast; ++sequence) {
      announcement.sequence = announcement.count = announcement.input_offset = announcement.output_offset =
          announcement.fingerprint = sequence;
      announcement.root = static_cast<std::int32_t>(sequence);
      announcement.algorithm.fill(static_cast<char>(sequence % 128));
      slot.announce(announcement);
      slot.signal({.sequence = sequence, .steps = 0});
    }
  });
  for (std::uint64_t sequence = 1; sequence < kLast;) {
    sequence = std::max<std::uint64_t>(slot.progress().sequence, 1);
    // The one of its place that is overwritten next.
    const auto oldest = slot.announcement(sequence > 7 ? sequence - 7 : sequence);
    if (!oldest) continue;
    const std::uint64_t number = oldest->sequence;
    ASSERT_EQ(oldest->count, number);
    ASSERT_EQ(oldest->input_offset, number);
    ASSERT_EQ(oldest->fingerprint, number);
    ASSERT_EQ(oldest->root, static_cast<std::int32_t>(number));
    ASSERT_EQ(std::ranges::count(oldest->algorithm, static_cast<char>(number % 128)), std::ssize(oldest->algorithm));
  }
  owner.join();
  EXPECT_TRUE(slot.announcement(kLast - 7));
  EXPECT_FALSE(slot.announcement(kLast - 8));
}

TEST(RankSlot, ASleeperIsWokenByASignal) {
  RankSlot slot;
  std::jthread sleeper([&] {
    // Far longer than the test may take: only the signal ends it.
    while (slot.progress() < Progress{1, 0}) slot.park(slot.progress(), milliseconds(600'000), [] { return false; });
  });
  slot.signal({.sequence = 1, .steps = 0});
  sleeper.join();
  EXPECT_EQ(slot.progress(), (Progress{1, 0}));
}

TEST(RankSlot, FailureKeepsItsFirstCause) {
  RankSlot slot;
  slot.enter();
  slot.fail({ErrorCode::kPeerDied, "rank 2 died", {.peer = 2}});
  slot.fail({ErrorCode::kTimeout, "later"});
  slot.leave();
  EXPECT_EQ(slot.state(), RankState::kFailed);
  EXPECT_EQ(slot.failure_of(5).code(), ErrorCode::kPeerDied);
  EXPECT_EQ(slot.failure_of(5).peer(), 2);
  EXPECT_STREQ(slot.failure_of(5).what(), "rank 2 died");
}

TEST(RankSlot, ALongFailureIsCutNotOverrun) {
  RankSlot slot;
  slot.enter();
  slot.fail({ErrorCode::kTransport, std::string(5000, 'x')});
  EXPECT_EQ(std::string(slot.failure_of(5).what()).size(), 999U);
}

}  // namespace lockstep::shm
