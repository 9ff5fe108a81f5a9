// One rank's messages over streams that a test fills and empties by hand.
#include "runtime/point_to_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

namespace {

using Direction = PointToPoint::Direction;
using std::chrono::milliseconds;

/// Streams to peers that are lists of bytes; so many bytes pass in one call.
class FakeStreams final : public ByteStreams {
 public:
  std::size_t send(int peer, std::span<const iovec> spans) override {
    return walk(spans, [&](char& byte) {
      if (room_ == 0) return false;
      --room_;
      sent_[peer].push_back(byte);
      return true;
    });
  }
  std::size_t receive(int peer, std::span<const iovec> spans) override {
    return walk(spans, [&](char& byte) {
      if (arrived_[peer].empty()) return false;
      byte = arrived_[peer].front();
      arrived_[peer].pop_front();
      return true;
    });
  }
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override {
    needs_.assign(needs.begin(), needs.end());
    return std::chrono::steady_clock::now() < deadline;
  }
  int patience() const override { return 0; }

  /// What one rank has sent arrives at the other.
  static void carry(FakeStreams& from, int from_rank, FakeStreams& to, int to_rank) {
    auto& sent = from.sent_[to_rank];
    auto& arrived = to.arrived_[from_rank];
    arrived.insert(arrived.end(), sent.begin(), sent.end());
    sent.clear();
  }
  void make_room(std::size_t bytes) { room_ = bytes; }
  const std::vector<Need>& needs() const { return needs_; }

 private:
  static constexpr std::size_t kMostInACall = 7;

  template <class Move>
  static std::size_t walk(std::span<const iovec> spans, const Move& move) {
    std::size_t bytes = 0;
    for (const iovec& span : spans) {
      for (std::size_t i = 0; i < span.iov_len; ++i) {
        if (bytes == kMostInACall || !move(static_cast<char*>(span.iov_base)[i])) return bytes;
        ++bytes;
      }
    }
    return bytes;
  }

  std::size_t room_ = 1'000'000;
  std::map<int, std::deque<char>> sent_;
  std::map<int, std::deque<char>> arrived_;
  std::vector<Need> needs_;
};

class PointToPointTest : public testing::Test {
 protected:
  PointToPoint::Ticket send(std::vector<float>& values) { return start(zero_, Direction::kSend, 1, buffer_of(values)); }
  PointToPoint::Ticket receive(std::vector<float>& values) {
    return start(one_, Direction::kReceive, 0, buffer_of(values));
  }
  static PointToPoint::Ticket start(PointToPoint& rank, Direction direction, int peer, Buffer buffer) {
    const PointToPoint::Ticket ticket = rank.start(
        {.direction = direction, .peer = peer, .buffer = buffer, .purpose = "a test", .timeout = milliseconds(20)});
    rank.advance();
    return ticket;
  }
  /// From rank 0 to rank 1.
  void carry() {
    FakeStreams::carry(streams_of_zero_, 0, streams_of_one_, 1);
    one_.advance();
  }
  Error error_of_receiving(Buffer buffer) {
    try {
      start(one_, Direction::kReceive, 0, buffer);
      carry();
    } catch (const Error& error) {
      return explain(one_.scene(""), error);
    }
    return {ErrorCode::kIo, "none"};
  }

  FakeStreams streams_of_zero_;
  FakeStreams streams_of_one_;
  PointToPoint zero_{streams_of_zero_, 0, 2};
  PointToPoint one_{streams_of_one_, 1, 2};
};

}  // namespace

TEST_F(PointToPointTest, MessagesPassInTheOrderInWhichTheyAreAskedFor) {
  std::vector<float> first{1, 2, 3};
  std::vector<float> none;
  std::vector<float> second{4};
  send(first);
  send(none);
  send(second);
  EXPECT_TRUE(zero_.idle());
  std::vector<float> got_first(3);
  std::vector<float> got_none;
  std::vector<float> got_second(1);
  receive(got_first);
  const auto empty = receive(got_none);
  const auto last = receive(got_second);
  EXPECT_FALSE(one_.is_complete(empty)) << "even an empty message waits for its sender";
  carry();
  EXPECT_TRUE(one_.is_complete(empty));
  EXPECT_TRUE(one_.is_complete(last));
  EXPECT_TRUE(one_.idle());
  EXPECT_EQ(got_first, first);
  EXPECT_EQ(got_second, second);
}

TEST_F(PointToPointTest, ASendIsCompleteWhenItsLastByteIsTaken) {
  std::vector<float> values{1, 2, 3};
  streams_of_zero_.make_room(27);
  const auto ticket = send(values);
  EXPECT_FALSE(zero_.is_complete(ticket)) << "16 bytes say what the 12 are, so one has no room";
  streams_of_zero_.make_room(1);
  zero_.advance();
  EXPECT_TRUE(zero_.is_complete(ticket));
}

TEST_F(PointToPointTest, DifferentCountsAndTypesAreToldToTheReceiver) {
  std::vector<float> values{1, 2, 3};
  send(values);
  std::vector<std::int32_t> other(2, 7);
  const Error error = error_of_receiving(buffer_of(other));
  EXPECT_EQ(error.code(), ErrorCode::kMismatch);
  EXPECT_EQ(error.peer(), 0);
  EXPECT_STREQ(
      error.what(),
      "Rank 1: receive #1 from rank 0, a test: rank 1 receives 2 int32 where rank 0 sends 3 float32; both must "
      "say the same.");
}

TEST_F(PointToPointTest, AsManyOfAnotherTypeAreNotTheSame) {
  std::vector<float> values{1, 2, 3};
  send(values);
  std::vector<std::int32_t> other(3);
  EXPECT_THAT(error_of_receiving(buffer_of(other)).what(),
              testing::HasSubstr("rank 1 receives 3 int32 where rank 0 sends 3 float32"));
}

TEST_F(PointToPointTest, TheDeadlineIsThatOfTheMessageWaitedFor) {
  std::vector<float> values(1);
  receive(values);
  const auto second = receive(values);
  try {
    while (true) one_.wait_for(second, PointToPoint::Time::max());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTimeout);
    EXPECT_STREQ(
        explain(one_.scene("a part"), error).what(),
        "Rank 1 of a part: receive #2 from rank 0, a test: rank 1 waited 0.02 s for rank 0, which did not send "
        "it.");
  }
  EXPECT_EQ(one_.scene("").sequence, 2U);
}

TEST_F(PointToPointTest, WhoWaitsSaysAllThatItNeeds) {
  std::vector<float> values(1);
  streams_of_one_.make_room(0);
  const auto received = receive(values);
  start(one_, Direction::kSend, 0, buffer_of(values));
  one_.wait_for(received, PointToPoint::Time::max());
  ASSERT_EQ(streams_of_one_.needs().size(), 2U);
  EXPECT_TRUE(streams_of_one_.needs()[0].room);
  EXPECT_TRUE(streams_of_one_.needs()[1].bytes);
}

}  // namespace lockstep
