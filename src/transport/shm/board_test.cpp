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

TEST(RankSlot, HearsOfAFailureOnceAndForAll) {
  RankSlot slot;
  EXPECT_FALSE(slot.hears_of_failure());
  slot.hear_of_failure();
  slot.hear_of_failure();
  EXPECT_TRUE(slot.hears_of_failure());
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

TEST(RankSlot, AnEntryIsThatOfTheOperationItsRankIsIn) {
  RankSlot slot;
  const auto announce = [&](std::uint64_t sequence) {
    Announcement announcement;
    announcement.sequence = sequence;
    announcement.fingerprint = 100 + sequence;
    announcement.input_offset = 200 + sequence;
    announcement.output_offset = 300 + sequence;
    slot.announce(announcement);
  };
  announce(1);
  EXPECT_FALSE(slot.entry(1)) << "not entered yet";
  slot.signal({.sequence = 1, .steps = 0});
  announce(2);
  const auto entry = slot.entry(1);
  ASSERT_TRUE(entry) << "the next one leaves it readable";
  EXPECT_EQ(entry->fingerprint, 101U);
  EXPECT_EQ(entry->input_offset, 201U);
  EXPECT_EQ(entry->output_offset, 301U);
  slot.signal({.sequence = 2, .steps = 0});
  EXPECT_FALSE(slot.entry(1)) << "the one after the next may stand there";
  EXPECT_EQ(slot.fingerprint(1), 101U) << "which stays for longer";
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
    const std::uint64_t next = sequence > 7 ? sequence - 7 : sequence;
    ASSERT_EQ(slot.fingerprint(next).value_or(next), next);
    const auto oldest = slot.announcement(next);
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

/// Who gave it may have looked for sleepers before it could see this one, and wakes nobody (asymmetric_fence.h). Where
/// the system takes the core away meanwhile, the first look is the last one.
TEST(RankSlot, WhoGoesToSleepLooksAgain) {
  constexpr std::chrono::microseconds kShort(1);
  RankSlot slot;
  const auto looks_again = [](const auto& sleep) {
    for (int tries = 0; tries < 100; ++tries) {
      int looks = 0;
      sleep([&] { return ++looks == 2; });
      if (looks == 2) return true;
    }
    return false;
  };
  EXPECT_TRUE(looks_again([&](const auto& there) { slot.park(slot.progress(), kShort, there); }));
  EXPECT_TRUE(looks_again([&](const auto& there) { slot.sleep_until_roused(kShort, there); }));
}

/// What comes between the last look and the sleep counts. It is asked for far longer than the test may take.
TEST(RankSlot, NobodySleepsForWhatIsThere) {
  constexpr milliseconds kLong(600'000);
  RankSlot slot;
  slot.park(slot.progress(), kLong, [] { return true; });
  slot.park(slot.progress(), kLong, [&] {
    slot.signal({.sequence = 1, .steps = 0});
    return false;
  });
  slot.sleep_until_roused(kLong, [] { return true; });
  slot.sleep_until_roused(kLong, [&] {
    slot.rouse();
    return false;
  });
  EXPECT_FALSE(slot.is_awaited());
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
