// What ranks are told that join, of one that does not come, ends, disagrees or goes no further.
#include "base/held_port.h"
#include "transport/tcp/gate.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/join_for_tests.h"
#include "transport/verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;

}  // namespace

TEST_F(JoinTest, MissingRanksAreNamed) {
  auto requests = world(4);
  requests.erase(requests.begin() + 2);
  for (JoinRequest& request : requests) request.timeout = milliseconds(300);
  const auto errors = join(requests);
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("Rank 0 waited 0.3 s for rank 2 to join.")));
}

/// As a host's own name does where its /etc/hosts says so.
TEST_F(JoinTest, ANameThatOnlyThisHostReachesIsSaid) {
  auto requests = world(2);
  requests.pop_back();
  requests[0].timeout = milliseconds(100);
  EXPECT_THAT(join(requests)[0], testing::Not(testing::HasSubstr("stands for")));
  requests[0].meet_at = "127.1";
  EXPECT_THAT(join(requests)[0], testing::HasSubstr(", which is what '127.1' stands for on its machine, and which no"));
}

TEST_F(JoinTest, ARankZeroThatEndsMeanwhileIsNoLateOne) {
  std::jthread ends([&] {
    Gate gate(listen_on(Address::resolve("127.0.0.1", port_.number)), {.secret = secret_, .job = "join_test"}, 0);
    EXPECT_TRUE(gate.admit(std::chrono::steady_clock::now() + std::chrono::seconds(10)));
  });
  std::vector<JoinRequest> requests{request(1, 2)};
  EXPECT_THAT(join(requests)[0], testing::HasSubstr("Rank 0 ended while the group was being formed."));
}

TEST_F(JoinTest, ARankZeroThatSaysNothingIsNotWaitedForForEver) {
  const FileDescriptor silent = listen_on(Address::resolve("127.0.0.1", port_.number));
  std::vector<JoinRequest> requests{request(1, 2)};
  requests[0].timeout = milliseconds(100);
  EXPECT_EQ(join(requests)[0],
            "Rank 1 could not join its job: rank 0 did not answer where it listens; does it run, and is that a rank of "
            "this job?");
}

/// As one does that strangers keep busy until nobody may come any more.
TEST_F(JoinTest, ARankZeroThatLetsNobodyInIsSaid) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", port_.number));
  const std::jthread closes([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (!accept_from(listener)) std::this_thread::sleep_for(milliseconds(1));
    }
  });
  std::vector<JoinRequest> requests{request(1, 2)};
  requests[0].timeout = milliseconds(500);
  EXPECT_THAT(join(requests)[0],
              testing::HasSubstr("Rank 1 waited 0.5 s for rank 0 to let it in. Is it running, with"));
}

namespace {

/// What rank 1 of 2 is told whose rank 0, at that port, lets it in, says `answer` and then no more.
std::string told_by_a_rank_zero_that_says(const std::string& answer, JoinRequest rank) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  rank.port = Address::of(listener).to_wire().port;
  rank.timeout = milliseconds(500);
  std::string told;
  std::jthread thread([&] {
    try {
      join_processes(rank);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTimeout);
      EXPECT_EQ(error.peer(), 0);
      told = error.what();
    }
  });
  Gate gate(FileDescriptor(::dup(listener.get())), {.secret = rank.secret.value(), .job = rank.job}, 0);
  const auto admitted = gate.admit(in(milliseconds(10'000)));
  if (admitted) (void)send_all(admitted->socket, answer.data(), answer.size(), in(milliseconds(1000)));
  thread.join();
  return told;
}

}  // namespace

TEST_F(JoinTest, ARankZeroThatSaysNoMoreIsNotWaitedForForEver) {
  std::string silent;
  std::jthread thread([&] { silent = told_by_a_rank_zero_that_says("", request(1, 2)); });
  const Verdict yes = Verdict::yes();
  const std::string half =
      told_by_a_rank_zero_that_says({reinterpret_cast<const char*>(&yes), sizeof yes}, request(1, 2));
  thread.join();
  EXPECT_THAT(silent, testing::HasSubstr("Rank 1 waited 0.5 s for rank 0 to let it join. Is it running, with"));
  EXPECT_THAT(half, testing::HasSubstr("Rank 1 waited 0.5 s for rank 0 to introduce the others. Is it running, with"));
}

/// One connection of three, and no other.
TEST_F(JoinTest, ARankThatJoinsAndDoesNotConnectIsNamed) {
  std::jthread half([&] {
    const FileDescriptor socket = connect_to(Address::resolve("127.0.0.1", port_.number), in(milliseconds(10'000)));
    const Hello hello{
        .from = 1, .to = 0, .size = 2, .channel = Channel::kControl, .listens_on = {}, .unused = 0, .nonce = {}};
    EXPECT_TRUE(introduce(socket, {.secret = secret_, .job = "join_test"}, hello, in(milliseconds(10'000))));
    char until_it_ends = 0;
    while (receive_all(socket, &until_it_ends, 1, in(milliseconds(10'000))) == Moved::kAll) continue;
  });
  std::vector<JoinRequest> requests{request(0, 2)};
  requests[0].timeout = milliseconds(500);
  EXPECT_THAT(join(requests)[0],
              testing::HasSubstr("Rank 0 waited 0.5 s for rank 1 to connect. Were all 2 ranks started, with the same"));
}

namespace {

/// Comes to rank 0 as that rank, which listens there, and says and hears no more than `then` does with the connection.
void come_as(const JoinRequest& rank, const std::function<void(const FileDescriptor& socket)>& then,
             const Address::Wire& listens_on = {}) {
  const FileDescriptor socket = connect_to(Address::resolve(rank.meet_at, rank.port), in(milliseconds(10'000)));
  const Hello hello{.from = rank.rank,
                    .to = 0,
                    .size = rank.size,
                    .channel = Channel::kControl,
                    .listens_on = listens_on,
                    .unused = 0,
                    .nonce = {}};
  EXPECT_TRUE(introduce(socket, {.secret = rank.secret.value(), .job = rank.job}, hello, in(milliseconds(10'000))));
  then(socket);
}

/// What rank 0 says to three ranks once all are there.
void hear_introduction(const FileDescriptor& socket) {
  std::array<char, sizeof(Verdict) + 3 * sizeof(Address::Wire)> introduction{};
  EXPECT_EQ(receive_all(socket, introduction.data(), introduction.size(), in(milliseconds(10'000))), Moved::kAll);
}

}  // namespace

/// Before all are there, and when they connect to each other.
TEST_F(JoinTest, ARankThatEndsMeanwhileIsNamedToAll) {
  for (const int size : {4, 3}) {
    std::jthread ends([&] {
      come_as(request(2, size), [&](const FileDescriptor& socket) {
        if (size == 3) hear_introduction(socket);
      });
    });
    const std::vector<JoinRequest> others{request(0, size), request(1, size)};
    const auto before = std::chrono::steady_clock::now();
    EXPECT_THAT(join(others), testing::Each("Rank 2 ended while the group was being formed.")) << size;
    EXPECT_LT(std::chrono::steady_clock::now() - before, others.front().timeout / 2);
  }
}

/// Rank 0 itself sees only that somebody is late.
TEST_F(JoinTest, WhoCannotConnectSaysSoBeforeRank0GivesUp) {
  const HeldPort nobodys = hold_port();
  std::jthread unreachable([&] {
    const auto stay = [](const FileDescriptor& socket) {
      char until_it_ends = 0;
      while (receive_all(socket, &until_it_ends, 1, in(milliseconds(10'000))) == Moved::kAll) continue;
    };
    come_as(request(1, 3), stay, Address::resolve("127.0.0.1", nobodys.number).to_wire());
  });
  std::vector<JoinRequest> others{request(0, 3), request(2, 3)};
  for (JoinRequest& other : others) other.timeout = milliseconds(3000);
  EXPECT_THAT(join(others), testing::Each(testing::HasSubstr(fmt::format(
                                "Rank 2 waited 3 s for rank 1 to appear at 127.0.0.1:{}", nobodys.number))));
}

TEST_F(JoinTest, ARankThatCannotGoOnIsQuotedToAll) {
  const Error why(ErrorCode::kTransport, "Rank 2 could not join the others: it has no socket left", {.peer = 2});
  std::jthread fails([&] {
    come_as(request(2, 3), [&](const FileDescriptor& socket) {
      hear_introduction(socket);
      const Verdict no = Verdict::no(why);
      EXPECT_EQ(send_all(socket, &no, sizeof no, in(milliseconds(10'000))), Moved::kAll);
      Verdict answer;
      EXPECT_EQ(receive_all(socket, &answer, sizeof answer, in(milliseconds(10'000))), Moved::kAll);
    });
  });
  const std::vector<JoinRequest> others{request(0, 3), request(1, 3)};
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THAT(join(others), testing::Each(why.what()));
  EXPECT_LT(std::chrono::steady_clock::now() - before, others.front().timeout / 2);
}

/// A part of a group calls its ranks as the group does, and waits no longer than the group does.
TEST_F(JoinTest, RanksThatKnowEachOtherAreCalledByTheirNumbersThere) {
  auto leads = request(0, 2);
  auto follows = request(1, 2);
  for (JoinRequest* one : {&leads, &follows}) {
    one->timeout = milliseconds(100);
    one->company.names = {5, 3};
  }
  EXPECT_THAT(join({leads})[0], testing::HasSubstr("Rank 5 waited 0.1 s for rank 3 to join"));
  EXPECT_THAT(join({follows})[0], testing::HasSubstr("Rank 3 waited 0.1 s for rank 5 to appear"));
}

TEST_F(JoinTest, WhatBefallsTheGroupEndsTheWait) {
  const FileDescriptor silent = listen_on(Address::resolve("127.0.0.1", 0));
  for (const bool is_heard : {false, true}) {
    for (const int rank : {0, 1}) {
      auto one = request(rank, 2);
      if (is_heard && rank == 1) one.port = Address::of(silent).to_wire().port;
      one.company.look = [] { throw Error(ErrorCode::kPeerDied, "rank 7 died", {.peer = 7}); };
      const auto before = std::chrono::steady_clock::now();
      EXPECT_EQ(join({one})[0], "rank 7 died");
      EXPECT_LT(std::chrono::steady_clock::now() - before, one.timeout / 2);
    }
  }
}

TEST_F(JoinTest, WithoutRankZeroTheOthersGiveUp) {
  auto requests = world(2);
  requests.erase(requests.begin());
  requests[0].timeout = milliseconds(200);
  EXPECT_THAT(join(requests)[0],
              testing::AllOf(testing::HasSubstr("Rank 1 waited 0.2 s for rank 0 to appear at 127.0.0.1:"),
                             testing::HasSubstr(" (the last try: Connection refused)")));
}

TEST_F(JoinTest, DisagreementAboutTheWorldIsSaidToAll) {
  auto requests = world(2);
  requests[1].size = 3;
  EXPECT_THAT(join(requests), testing::Each("Rank 1 says that the world has 3 ranks, rank 0 says 2."));
  requests = world(3);
  requests[2].rank = 1;
  const auto errors = join(requests);
  EXPECT_THAT(errors[0], testing::HasSubstr("Two processes say that they are rank 1."));
}

}  // namespace lockstep::tcp
