#include "transport/shm/peers.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace lockstep::shm {

namespace {

/// Rank 0's view of two others, whose processes live as long as `owners_` has their ends.
class PeersTest : public testing::Test {
 protected:
  PeersTest() {
    std::vector<FileDescriptor> watch_ends(1);
    for (int peer = 1; peer < kRanks; ++peer) {
      Lifeline lifeline = Lifeline::create();
      owners_.push_back(std::move(lifeline.owner_end));
      watch_ends.push_back(std::move(lifeline.watch_end));
    }
    for (int rank = 0; rank < kRanks; ++rank) slots_.get()[rank].enter();
    peers_.emplace(0, kRanks, slots_, std::move(watch_ends));
  }
  RankSlot& slot(int rank) { return slots_.get()[rank]; }
  void end(int peer) { owners_[static_cast<std::size_t>(peer) - 1].reset(); }

  static constexpr int kRanks = 3;
  std::shared_ptr<RankSlot> slots_{new RankSlot[kRanks], std::default_delete<RankSlot[]>()};
  std::vector<FileDescriptor> owners_;
  std::optional<Peers> peers_;
};

}  // namespace

TEST_F(PeersTest, WhoEndsWithoutAWordHasDied) {
  EXPECT_FALSE(peers_->trouble());
  end(2);
  const auto trouble = peers_->trouble();
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->code(), ErrorCode::kPeerDied);
  EXPECT_STREQ(trouble->what(), "rank 2 died");
  EXPECT_EQ(trouble->peer(), 2);
}

TEST_F(PeersTest, WhoLeftInGoodOrderIsMissedOnlyByWhoWaitsForIt) {
  slot(2).leave();
  end(2);
  EXPECT_FALSE(peers_->trouble());
  EXPECT_FALSE(peers_->absence_of(1));
  ASSERT_TRUE(peers_->absence_of(2));
  EXPECT_EQ(peers_->absence_of(2)->code(), ErrorCode::kPeerLeft);
}

TEST_F(PeersTest, WhatAPeerSaidComesBeforeThatAnotherDied) {
  end(1);
  slot(2).fail({ErrorCode::kIo, "the disk is full"});
  end(2);
  EXPECT_STREQ(peers_->trouble().value().what(), "the disk is full");
}

TEST_F(PeersTest, OnesOwnFailureIsNoPeers) {
  slot(0).fail({ErrorCode::kIo, "the disk is full"});
  EXPECT_FALSE(peers_->trouble());
}

}  // namespace lockstep::shm
