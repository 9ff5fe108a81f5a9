#include "transport/shm/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
