#include "transport/tcp/tcp_transport.h"

#include "base/error_for_tests.h"
#include "transport/tcp/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
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

  /// So many bytes to a peer, or as many as have room where it takes none; how many.
  static std::size_t send_some(ByteStreams& streams, int peer, std::size_t most) {
    std::vector<char> bytes(most);
    for (std::size_t sent = 0; sent < most;) {
      const iovec rest{bytes.data() + sent, most - sent};
      const std::size_t now = streams.send(peer, std::span(&rest, 1));
      if (now == 0) return sent;
      sent += now;
    }
    return most;
  }
  /// How many bytes of a peer come before it is said that it has left.
  static std::size_t receive_until_it_left(ByteStreams& streams, int peer) {
    std::vector<char> bytes(1 << 20);
    const iovec span = span_of(bytes);
    std::size_t received = 0;
    try {
      const MessageTransport::Need need{.peer = peer, .room = false, .bytes = true};
      while (streams.wait(std::span(&need, 1), steady_clock::now() + std::chrono::seconds(20))) {
        received += streams.receive(peer, std::span(&span, 1));
      }
      ADD_FAILURE() << "it has not left";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerLeft) << error.what();
    }
    return received;
  }

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

/// Which the system would answer with a reset, and drop what is still under way.
TEST_F(TcpTransportTest, WhatWasSentArrivesThoughWhoLeavesHasSomethingUnread) {
  for (const bool as_messages : {false, true}) {
    SCOPED_TRACE(as_messages ? "messages" : "data");
    ranks_.clear();
    start(2);
    const auto streams_of = [&](std::size_t rank) -> ByteStreams& {
      return as_messages ? ranks_[rank]->messages() : static_cast<ByteStreams&>(*ranks_[rank]);
    };
    ASSERT_EQ(send_some(streams_of(1), 0, 4), 4U);
    const MessageTransport::Need unread{.peer = 1, .room = false, .bytes = true};
    ASSERT_TRUE(streams_of(0).wait(std::span(&unread, 1), steady_clock::now() + std::chrono::seconds(20)));
    const std::size_t sent = send_some(streams_of(0), 1, 64 << 20);
    ASSERT_LT(sent, 64U << 20) << "it all had room";
    ranks_[0].reset();
    EXPECT_EQ(receive_until_it_left(streams_of(1), 0), sent);
  }
}

/// Who has failed, and whose peers do not read, as those that are stopped.
TEST_F(TcpTransportTest, WhoHasFailedWaitsForNobodyToTakeWhatItSent) {
  constexpr int kTimes = 20;
  steady_clock::duration taken{};
  for (int time = 0; time < kTimes; ++time) {
    start(2);
    send_some(*ranks_[0], 1, 1 << 20);
    const auto begin = steady_clock::now();
    ranks_[0]->fail({ErrorCode::kTransport, "rank 0 broke", {.peer = 0}});
    ranks_.clear();
    taken += steady_clock::now() - begin;
  }
  EXPECT_LT(taken, kTimes * Company::kLastWord / 2);
}

TEST_F(TcpTransportTest, AllPeersThatDoNotReadAreWaitedForAtOnce) {
  constexpr int kPeers = 5;
  start(1 + kPeers);
  for (int peer = 1; peer <= kPeers; ++peer) {
    send_some(*ranks_[0], peer, 1 << 20);
    send_some(ranks_[0]->messages(), peer, 1 << 20);
  }
  const auto begin = steady_clock::now();
  ranks_[0].reset();
  EXPECT_LT(steady_clock::now() - begin, kPeers * Company::kLastWord);
}

/// A child's copies of what its parent shares with others.
TEST_F(TcpTransportTest, AForkedChildEndsNothingAndTakesNothing) {
  start(2);
  ASSERT_EQ(send_some(*ranks_[1], 0, 1), 1U);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const auto& rank : ranks_) rank->fail({ErrorCode::kIo, "the child's disk is full"});
    ranks_.clear();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(told_while_waiting_for(1), "bytes");
  ASSERT_EQ(send_some(*ranks_[1], 0, 1), 1U);
  EXPECT_EQ(told_while_waiting_for(1), "bytes") << "after its child has ended as before";
  EXPECT_EQ(told_while_waiting_for(1), "") << "what befell the child is none of its affair";
  EXPECT_EQ(send_some(*ranks_[0], 1, 1), 1U);
}

TEST_F(TcpTransportTest, AFailureIsQuotedToWhoeverWaitsForAnyone) {
  start(3);
  ranks_[1]->fail({ErrorCode::kPeerDied, "the cable of rank 7 is cut", {.peer = 7}});
  ranks_[1].reset();
  blamed_ = 7;
  EXPECT_EQ(told_while_waiting_for(2), "the cable of rank 7 is cut");
  EXPECT_EQ(told_while_waiting_for(1), "the cable of rank 7 is cut");
}

/// It may be of what comes next.
TEST_F(TcpTransportTest, WhatWasGivenBeforeAFailureIsTakenFirst) {
  start(2);
  ASSERT_EQ(send_some(*ranks_[1], 0, 1), 1U);
  ranks_[1]->fail({ErrorCode::kIo, "the disk is full"});
  EXPECT_EQ(told_while_waiting_for(1), "bytes");
  EXPECT_EQ(told_while_waiting_for(1), "the disk is full");
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

/// Memory from which nothing can be read, nor anything be written to it: that is nobody's death.
TEST_F(TcpTransportTest, ARanksOwnFaultIsNotItsPeersDeath) {
  start(2);
  constexpr std::size_t kBytes = 4096;
  void* const nowhere = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(nowhere, MAP_FAILED);
  const iovec span{nowhere, kBytes};
  const auto expect_own_fault = [](const char* what, const auto& move) {
    try {
      move();
      ADD_FAILURE() << "moved: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTransport);
      EXPECT_EQ(error.peer(), -1) << "nobody else is to blame";
      EXPECT_THAT(error.what(),
                  testing::StartsWith(std::string(what) + " rank 1 failed on rank 0 itself: Bad address"));
    }
  };
  expect_own_fault("sending to", [&] { ranks_[0]->send(1, std::span(&span, 1)); });
  std::vector<char> byte{'x'};
  const iovec good = span_of(byte);
  ASSERT_EQ(ranks_[1]->send(0, std::span(&good, 1)), 1U);
  const MessageTransport::Need need{.peer = 1, .room = false, .bytes = true};
  ASSERT_TRUE(ranks_[0]->wait(std::span(&need, 1), steady_clock::now() + std::chrono::seconds(20)));
  expect_own_fault("receiving from", [&] { ranks_[0]->receive(1, std::span(&span, 1)); });
  EXPECT_EQ(told_while_waiting_for(1), "bytes") << "the connection is as good as before";
  ::munmap(nowhere, kBytes);
}

/// The word that would wake a waiting rank has been taken already.
TEST_F(TcpTransportTest, AFailureThatWasHeardBeforeEndsTheNextWait) {
  start(3);
  ranks_[1]->fail({ErrorCode::kTransport, "rank 1 broke", {.peer = 1}});
  std::this_thread::sleep_for(milliseconds(30));
  ranks_[0]->listen();
  const MessageTransport::Need need{.peer = 2, .room = false, .bytes = true};
  const auto begin = steady_clock::now();
  EXPECT_THAT([&] { ranks_[0]->wait(std::span(&need, 1), begin + std::chrono::seconds(40)); },
              testing::ThrowsMessage<Error>("rank 1 broke"));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(20)) << "not only once the deadline has passed";
}

/// A rank that sleeps says the rest of what it had no room for when its peer begins to read.
TEST_F(TcpTransportTest, WhatHadNoRoomFollowsFromASleepingRank) {
  std::vector<Host> hosts = thread_hosts(2);
  const int least = 1;  // of which the system makes a few KiB
  ::setsockopt(hosts[0].links[1].control.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
  for (Host& host : hosts) ranks_.push_back(create(std::move(host)));
  std::array<std::byte, MessageTransport::kMostToldBytes> what{};
  for (int i = 0; i < 1000; ++i) ranks_[0]->tell(1, what);
  what.fill(std::byte{1});
  ranks_[0]->tell(1, what);
  std::jthread sleeper([&] {
    const MessageTransport::Need need{.peer = 1, .room = false, .bytes = true};
    const auto end = steady_clock::now() + std::chrono::seconds(40);
    while (ranks_[0]->wait(std::span(&need, 1), end)) {
      std::vector<char> byte(1);
      const iovec span = span_of(byte);
      if (ranks_[0]->receive(1, std::span(&span, 1)) > 0) return;
    }
  });
  const auto end = steady_clock::now() + std::chrono::seconds(20);
  const auto is_told = [&] { return std::ranges::equal(ranks_[1]->told_by(0), what); };
  for (const MessageTransport::Need none{.peer = 0, .room = false, .bytes = true};
       !is_told() && steady_clock::now() < end;) {
    ranks_[1]->wait(std::span(&none, 1), steady_clock::now() + milliseconds(5));
  }
  EXPECT_TRUE(is_told());
  std::vector<char> byte{'x'};
  const iovec span = span_of(byte);
  ASSERT_EQ(ranks_[1]->send(0, std::span(&span, 1)), 1U);
}

/// As the thread of a rank that computes does.
TEST_F(TcpTransportTest, WhoSleepsByItselfAnswersAndIsNotKeptAwakeByWhatNobodyReads) {
  start(3);
  std::vector<pollfd> sockets;
  const auto sleep = [&](int at_most) { return ::poll(sockets.data(), sockets.size(), at_most); };
  const auto step = [&] {
    sockets.clear();
    ranks_[1]->answer(sockets);
  };
  step();
  std::vector<int> idle;
  std::jthread asks([&] { idle = ranks_[0]->idle_peers(); });
  EXPECT_GT(sleep(20'000), 0);
  step();
  asks.join();
  EXPECT_EQ(idle, std::vector<int>{2});

  for (const char* const what : {"its last word", "and what nobody reads"}) {
    ranks_[0]->fail(Error(ErrorCode::kTransport, what, {.rank = 0}));
    if (sleep(100) > 0) step();
  }
  EXPECT_EQ(sleep(0), 0);
  EXPECT_THROW(ranks_[1]->look_around(), Error);
}

}  // namespace lockstep::tcp
