#include "transport/tcp/tcp_transport.h"

#include "base/error_for_tests.h"
#include "transport/tcp/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class TcpTransportTest : public testing::Test {
 protected:
  void start(int ranks) {
    for (Host& host : thread_hosts(ranks)) ranks_.push_back(create(std::move(host)));
  }
  static iovec span_of(std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

  /// What rank 0 is told when it waits for bytes of `peer`; empty if the deadline passed.
  std::string told_while_waiting_for(int peer) {
    std::vector<char> byte(1);
    const iovec span = span_of(byte);
    const MessageTransport::Need need{.peer = peer, .room = false, .bytes = true};
    try {
      while (ranks_[0]->wait(std::span(&need, 1), steady_clock::now() + milliseconds(200))) {
        if (ranks_[0]->receive(peer, std::span(&span, 1)) > 0) return "bytes";
      }
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.peer(), blamed_) << error.what();
      return error.what();
    }
  }

  std::vector<std::unique_ptr<MessageTransport>> ranks_;
  int blamed_ = 1;
};

}  // namespace

TEST_F(TcpTransportTest, MovesBytesInOrderFromAndToSeveralPlaces) {
  start(2);
  std::vector<char> head{'a', 'b'};
  std::vector<char> rest(1'000'000);
  std::iota(rest.begin(), rest.end(), 0);
  std::vector<char> got(head.size() + rest.size());
  std::jthread sender([&] {
    std::size_t sent = 0;
    while (sent < got.size()) {
      std::vector<iovec> spans;
      if (sent < head.size()) spans.push_back({head.data() + sent, head.size() - sent});
      const std::size_t of_rest = sent > head.size() ? sent - head.size() : 0;
      spans.push_back({rest.data() + of_rest, rest.size() - of_rest});
      const std::size_t now = ranks_[0]->send(1, spans);
      const MessageTransport::Need room{.peer = 1, .room = true, .bytes = false};
      if (now == 0) ranks_[0]->wait(std::span(&room, 1), steady_clock::now() + milliseconds(1000));
      sent += now;
    }
  });
  std::size_t received = 0;
  const MessageTransport::Need bytes{.peer = 0, .room = false, .bytes = true};
  while (received < got.size() && ranks_[1]->wait(std::span(&bytes, 1), steady_clock::now() + milliseconds(5000))) {
    const std::size_t half = (got.size() - received + 1) / 2;
    const iovec spans[] = {{got.data() + received, half}, {got.data() + received + half, got.size() - received - half}};
    received += ranks_[1]->receive(0, spans);
  }
  ASSERT_EQ(received, got.size());
  EXPECT_EQ(got[0], 'a');
  EXPECT_EQ(got[1], 'b');
  EXPECT_EQ(std::memcmp(got.data() + 2, rest.data(), rest.size()), 0);
}

TEST_F(TcpTransportTest, AnswersItsQuestions) {
  start(3);
  EXPECT_EQ(ranks_[2]->rank(), 2);
  EXPECT_EQ(ranks_[2]->size(), 3);
  EXPECT_TRUE(ranks_[2]->takes(Device::kHost));
  EXPECT_FALSE(ranks_[2]->takes(Device::kCuda));
  const RegisteredMemory memory = ranks_[2]->allocate(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0U);
  EXPECT_EQ(static_cast<char*>(memory.data())[99], 0);
  EXPECT_THAT([&] { ranks_[2]->allocate(std::size_t{1} << 60); },
              testing_support::refuses(ErrorCode::kOutOfMemory, "bytes of memory could not be had"));
}

TEST_F(TcpTransportTest, NothingComesUntilTheDeadline) {
  start(2);
  EXPECT_EQ(told_while_waiting_for(1), "");
}

TEST_F(TcpTransportTest, WhoLeavesIsNamedByWhoStillNeedsIt) {
  start(3);
  std::vector<char> byte{'x'};
  const iovec span = span_of(byte);
  ASSERT_EQ(ranks_[1]->send(0, std::span(&span, 1)), 1U);
  ranks_[1].reset();
  EXPECT_EQ(told_while_waiting_for(2), "") << "who needs nothing of it is not disturbed";
  EXPECT_EQ(told_while_waiting_for(1), "bytes") << "what it sent before still arrives";
  EXPECT_THAT(told_while_waiting_for(1), testing::HasSubstr("rank 1 has left the group"));
}

TEST_F(TcpTransportTest, AFailureIsQuotedToWhoeverWaitsForAnyone) {
  start(3);
  ranks_[1]->fail({ErrorCode::kPeerDied, "the cable of rank 7 is cut", {.peer = 7}});
  ranks_[1].reset();
  blamed_ = 7;
  EXPECT_EQ(told_while_waiting_for(2), "the cable of rank 7 is cut");
  EXPECT_EQ(told_while_waiting_for(1), "the cable of rank 7 is cut");
}

/// As when a process is killed: its connections close, and it has said nothing.
TEST_F(TcpTransportTest, WhoVanishesHasDied) {
  std::vector<Host> hosts = thread_hosts(3);
  ranks_.push_back(create(std::move(hosts[0])));
  ranks_.push_back(nullptr);
  ranks_.push_back(create(std::move(hosts[2])));
  hosts[1] = {};
  EXPECT_EQ(told_while_waiting_for(2), "rank 1 died");
  EXPECT_EQ(told_while_waiting_for(1), "rank 1 died");
}

}  // namespace lockstep::tcp
