#include "transport/tcp/join.h"

#include "base/held_port.h"
#include "base/limit_for_tests.h"
#include "transport/tcp/crowd_for_tests.h"
#include "transport/tcp/gate.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/hmac.h"
#include "transport/tcp/piece_bytes.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;

using Kind = FileDescriptor Host::Link::*;
constexpr std::array<Kind, 3> kLinkKinds{&Host::Link::control, &Host::Link::data, &Host::Link::messages};

class JoinTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  }

  JoinRequest request(int rank, int size) const {
    return {.job = "join_test",
            .rank = rank,
            .size = size,
            .port = port_.number,
            .secret = secret_,
            .timeout = milliseconds(20'000)};
  }

  /// Joins each request in a thread of its own, all but the first after `before_others`; what went wrong, by rank,
  /// empty where nothing did.
  std::vector<std::string> join(
      const std::vector<JoinRequest>& requests, const std::function<void()>& before_others = [] {}) {
    std::vector<std::string> errors(requests.size());
    hosts_.clear();
    hosts_.resize(requests.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] {
        if (i > 0) before_others();
        try {
          hosts_[i] = join_processes(requests[i]);
        } catch (const Error& error) {
          errors[i] = error.what();
        }
      });
    }
    threads.clear();
    return errors;
  }

  /// By a connection of each kind, which carries something either way.
  void expect_each_two_connected(int size) const {
    for (int a = 0; a < size; ++a) {
      const auto& links = hosts_[static_cast<std::size_t>(a)].links;
      ASSERT_EQ(links.size(), static_cast<std::size_t>(size));
      for (int b = 0; b < size; ++b) {
        for (const Kind kind : kLinkKinds)
          EXPECT_EQ(static_cast<bool>(links[static_cast<std::size_t>(b)].*kind), a != b);
      }
    }
    // Each end talks to the rank that it thinks it talks to.
    for (int a = 0; a < size; ++a) {
      for (int b = 0; b < size; ++b) {
        if (a == b) continue;
        const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        const auto& there = hosts_[static_cast<std::size_t>(a)].links[static_cast<std::size_t>(b)];
        const auto& here = hosts_[static_cast<std::size_t>(b)].links[static_cast<std::size_t>(a)];
        for (std::size_t kind = 0; kind < kLinkKinds.size(); ++kind) {
          const std::size_t sent = 100 * static_cast<std::size_t>(10 * a + b) + kind;
          std::size_t got = 0;
          ASSERT_EQ(send_all(there.*kLinkKinds[kind], &sent, sizeof sent, deadline), Moved::kAll);
          ASSERT_EQ(receive_all(here.*kLinkKinds[kind], &got, sizeof got, deadline), Moved::kAll);
          EXPECT_EQ(got, sent);
        }
      }
    }
  }

  std::vector<JoinRequest> world(int size) const {
    std::vector<JoinRequest> requests;
    for (int rank = 0; rank < size; ++rank) requests.push_back(request(rank, size));
    return requests;
  }

  HeldPort port_ = hold_port();
  Secret secret_ = Secret::make();
  std::vector<Host> hosts_;
};

}  // namespace

TEST_F(JoinTest, ConnectsEachTwoRanks) {
  for (const int size : {2, 3, 5}) {
    EXPECT_THAT(join(world(size)), testing::Each(""));
    expect_each_two_connected(size);
  }
}

TEST_F(JoinTest, AllChooseAlikeInWhatPiecesLargeBuffersGo) {
  std::vector<JoinRequest> requests = world(3);
  ASSERT_THAT(join(requests), testing::Each(""));
  for (const Host& host : hosts_) EXPECT_EQ(host.piece_bytes, kPieceBytesOverLoopback);
  requests[1].listen_on = "0.0.0.0";  // which others may reach from elsewhere
  ASSERT_THAT(join(requests), testing::Each(""));
  for (const Host& host : hosts_) EXPECT_EQ(host.piece_bytes, 0U);
}

TEST_F(JoinTest, NobodyListensAfterwards) {
  ASSERT_THAT(join(world(2)), testing::Each(""));
  const Deadline soon = std::chrono::steady_clock::now() + milliseconds(50);
  EXPECT_FALSE(connect_to(Address::resolve("127.0.0.1", port_.number), soon));
}

TEST_F(JoinTest, WorksWithoutASecretOnLoopbackOnly) {
  auto requests = world(2);
  for (JoinRequest& request : requests) request.secret.reset();
  EXPECT_THAT(join(requests), testing::Each(""));
  requests[0].meet_at = "0.0.0.0";
  requests[1].timeout = milliseconds(50);
  const auto errors = join(requests);
  EXPECT_THAT(errors[0],
              testing::AllOf(testing::HasSubstr("which others can reach"), testing::HasSubstr("LOCKSTEP_SECRET_FILE")));
}

/// By rank 0 at once, by others once it has not become one: it may be that of a machine which is being started.
TEST_F(JoinTest, ANameThatIsNoAddressIsSaid) {
  for (const auto& [rank, waited] : {std::pair{0, "); rank 0 "}, {1, "), nor did it become one in 0.3 s; rank 0 "}}) {
    JoinRequest one = request(rank, 2);
    one.meet_at = "no.such.host.invalid";
    if (rank != 0) one.timeout = milliseconds(300);
    EXPECT_THAT(join({one})[0],
                testing::AllOf(testing::HasSubstr("'no.such.host.invalid' is no address"), testing::HasSubstr(waited),
                               testing::HasSubstr("MASTER_ADDR ('no.such.host.invalid')")));
  }
}

TEST_F(JoinTest, AnAddressThatCannotBeListenedOnIsSaidWithItsVariable) {
  const std::string theirs = "192.0.2.1";  // for documentation: no machine's
  JoinRequest meets = request(0, 2);
  meets.meet_at = theirs;
  EXPECT_EQ(join({meets})[0],
            fmt::format("Listening on 192.0.2.1:{0} failed: Cannot assign requested address; rank 0 listens at "
                        "MASTER_ADDR ('192.0.2.1') and LOCKSTEP_PORT ({0}): set them, alike for all ranks, to an "
                        "address of its machine and a port that is free there.",
                        port_.number));
  const FileDescriptor leader = listen_on(Address::resolve("127.0.0.1", port_.number));
  JoinRequest listens = request(1, 2);
  listens.listen_on = theirs;
  EXPECT_EQ(join({listens})[0],
            "Listening on 192.0.2.1:0 failed: Cannot assign requested address; LOCKSTEP_ADDRESS is '192.0.2.1': set it "
            "to an address of this machine, or leave it out.");
  listens.listen_on = "no.such.host.invalid";
  EXPECT_THAT(join({listens})[0],
              testing::AllOf(testing::StartsWith("'no.such.host.invalid' is no address that this machine knows ("),
                             testing::EndsWith("; LOCKSTEP_ADDRESS is 'no.such.host.invalid': set it to an address of "
                                               "this machine, or leave it out.")));
}

TEST_F(JoinTest, MoreRanksThanThisProcessCanHoldAreRefused) {
  const testing_support::Limit files(RLIMIT_NOFILE, 1000);
  for (const int rank : {0, 1}) {
    JoinRequest many = request(rank, 5000);
    EXPECT_THAT(join({many})[0],
                testing::HasSubstr("needs more than 14997 open files to join 5000 ranks and may have"));
    many.size = 99'999'999;
    EXPECT_THAT(join({many})[0], testing::HasSubstr("is to join 99999999 ranks, and at most 1048576 join each other"));
  }
}

TEST_F(JoinTest, ManyMissingRanksAreNamedAsARange) {
  JoinRequest alone = request(0, 200);
  alone.timeout = milliseconds(50);
  EXPECT_THAT(join({alone})[0], testing::HasSubstr("waited 0.05 s for ranks 1 to 199 to join."));
}

TEST_F(JoinTest, AWrongSecretIsRefusedAndTheJobGoesOn) {
  auto requests = world(2);
  JoinRequest stranger = requests[1];
  stranger.secret = Secret::make();
  stranger.timeout = milliseconds(1000);
  requests.push_back(stranger);
  stranger.secret.reset();
  requests.push_back(stranger);
  const auto errors = join(requests);
  EXPECT_EQ(errors[0], "");
  EXPECT_EQ(errors[1], "");
  // They came in time to be refused, or when the door was already shut.
  for (const std::size_t i : {2U, 3U}) EXPECT_NE(errors[i], "");
}

/// Silent ones, some that say a byte, and some that babble: before the others come to rank 0, and while all join.
TEST_F(JoinTest, AThousandStrangersKeepNoRankOut) {
  std::atomic<int> came = 0;
  std::jthread crowd = crowd_at(Address::resolve("127.0.0.1", port_.number), {0, 1, 1000}, came);
  auto requests = world(3);
  for (JoinRequest& request : requests) request.timeout = milliseconds(120'000);
  const Deadline late = in(milliseconds(60'000));
  const auto errors = join(requests, [&] {
    while (came < 1000 && std::chrono::steady_clock::now() < late) std::this_thread::sleep_for(milliseconds(1));
  });
  crowd.request_stop();
  EXPECT_GE(came, 1000);
  ASSERT_THAT(errors, testing::Each(""));
  expect_each_two_connected(3);
}

/// A peer that does not read for long is no dead line.
TEST_F(JoinTest, OnlyConnectionsThatNeverFillAreGivenUpWhenSilent) {
  EXPECT_THAT(join(world(2)), testing::Each(""));
  for (const Kind kind : kLinkKinds) {
    int milliseconds_of_silence = -1;
    socklen_t bytes = sizeof milliseconds_of_silence;
    const int socket = (hosts_[1].links[0].*kind).get();
    ASSERT_EQ(::getsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds_of_silence, &bytes), 0);
    EXPECT_EQ(milliseconds_of_silence, kind == &Host::Link::control ? 30'000 : 0);
  }
}

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

/// Comes to rank 0 of three as rank 2, and says and hears no more than `then` does with the connection.
void come_as_rank_2(const JoinRequest& rank, const std::function<void(const FileDescriptor& socket)>& then) {
  const FileDescriptor socket = connect_to(Address::resolve(rank.meet_at, rank.port), in(milliseconds(10'000)));
  const Hello hello{
      .from = 2, .to = 0, .size = rank.size, .channel = Channel::kControl, .listens_on = {}, .unused = 0, .nonce = {}};
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
      come_as_rank_2(request(2, size), [&](const FileDescriptor& socket) {
        if (size == 3) hear_introduction(socket);
      });
    });
    const std::vector<JoinRequest> others{request(0, size), request(1, size)};
    const auto before = std::chrono::steady_clock::now();
    EXPECT_THAT(join(others), testing::Each("Rank 2 ended while the group was being formed.")) << size;
    EXPECT_LT(std::chrono::steady_clock::now() - before, others.front().timeout / 2);
  }
}

TEST_F(JoinTest, ARankThatCannotGoOnIsQuotedToAll) {
  const Error why(ErrorCode::kTransport, "Rank 2 could not join the others: it has no socket left", {.peer = 2});
  std::jthread fails([&] {
    come_as_rank_2(request(2, 3), [&](const FileDescriptor& socket) {
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
