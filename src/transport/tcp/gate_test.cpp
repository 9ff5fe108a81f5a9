// What a gate lets in, and that strangers disturb nobody.
#include "transport/tcp/gate.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"
#include "transport/tcp/crowd_for_tests.h"
#include "transport/tcp/deadline_for_tests.h"
#include "transport/tcp/hmac_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A gate of rank 0 on loopback, and how to come to it.
class GateTest : public WithHmac {
 protected:
  void SetUp() override {
    WithHmac::SetUp();
    if (!IsSkipped()) open(Gate::kPatience);
  }

  /// Another gate in its place, with so much patience.
  void open(milliseconds patience) {
    FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
    address_ = Address::of(listener);
    gate_.emplace(std::move(listener), credentials_, 0, patience);
  }

  FileDescriptor connect() const { return connect_to(address_, in(milliseconds(5000))); }

  /// Of a connection on which nothing more is sent.
  static bool is_open(const FileDescriptor& socket) {
    char more = 0;
    return receive_all(socket, &more, 1, steady_clock::now()) == Moved::kTimeout;
  }

  /// Comes as rank 1 and says how that went: "in", "out" (the connection was closed), or the error's text.
  std::string come(const Credentials& credentials, int to = 0, milliseconds patience = milliseconds(5000),
                   FileDescriptor socket = {}) const {
    const Hello hello{
        .from = 1, .to = to, .size = 2, .channel = Channel::kData, .listens_on = {}, .unused = 0, .nonce = {}};
    try {
      if (!socket) socket = connect();
      return introduce(socket, credentials, hello, in(patience)) ? "in" : "out";
    } catch (const Error& error) {
      return error.what();
    }
  }

  /// What comes of a rank that comes to the gate while it admits for that long.
  std::string come_while_admitting(const Credentials& credentials, milliseconds duration, int to = 0) {
    std::string said;
    std::jthread guest([&] { said = come(credentials, to); });
    admitted_ = gate_->admit(in(duration));
    guest.join();
    return said;
  }

  Credentials credentials_{Secret::make(), "a job"};
  Address address_;
  std::optional<Gate> gate_;
  std::optional<Gate::Admitted> admitted_;
};

}  // namespace

TEST_F(GateTest, LetsInWhoKnowsTheSecret) {
  EXPECT_EQ(come_while_admitting(credentials_, milliseconds(10'000)), "in");
  ASSERT_TRUE(admitted_);
  EXPECT_EQ(admitted_->hello.from, 1);
  EXPECT_EQ(admitted_->hello.channel, Channel::kData);
}

TEST_F(GateTest, RefusesAnotherSecretJobOrRank) {
  const Credentials other_secret{Secret::make(), credentials_.job};
  const Credentials no_secret{Secret(), credentials_.job};
  const Credentials other_job{credentials_.secret, "another job"};
  for (const Credentials& credentials : {other_secret, no_secret, other_job}) {
    EXPECT_THAT(come_while_admitting(credentials, milliseconds(300)), testing::HasSubstr("do not share a secret"));
    EXPECT_FALSE(admitted_);
  }
  EXPECT_THAT(come_while_admitting(credentials_, milliseconds(300), 7), testing::HasSubstr("do not share a secret"));
  EXPECT_FALSE(admitted_);
}

/// Who sends our own proof back to us proves nothing.
TEST_F(GateTest, ProofsOfTheTwoSidesDiffer) {
  const Challenge challenge = make_challenge();
  const Hello hello{};
  EXPECT_FALSE(same(prove(credentials_, Role::kConnector, challenge, hello),
                    prove(credentials_, Role::kAcceptor, challenge, hello)));
  EXPECT_FALSE(same(prove(credentials_, Role::kConnector, challenge, hello),
                    prove(credentials_, Role::kConnector, make_challenge(), hello)))
      << "a proof could be used again";
}

/// Who stands between two ranks cannot change what one says of itself.
TEST_F(GateTest, AProofIsOfAllThatTheConnectorSays) {
  const Challenge challenge = make_challenge();
  const Hello said{
      .from = 1, .to = 0, .size = 2, .channel = Channel::kData, .listens_on = {}, .unused = 0, .nonce = {}};
  const Digest proof = prove(credentials_, Role::kConnector, challenge, said);
  for (std::size_t byte = 0; byte < sizeof said; ++byte) {
    Hello changed = said;
    std::as_writable_bytes(std::span(&changed, 1))[byte] ^= std::byte{1};
    EXPECT_FALSE(same(prove(credentials_, Role::kConnector, challenge, changed), proof)) << byte;
  }
}

TEST_F(GateTest, ARankGetsInPastSilentBabblingAndSlowStrangers) {
  std::vector<FileDescriptor> strangers;
  const std::string garbage(1000, 'x');
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(connect());  // silent
    strangers.push_back(connect());
    (void)send_all(strangers.back(), garbage.data(), garbage.size(), in(milliseconds(1000)));
    strangers.push_back(connect());  // a byte, and another some day
    (void)send_all(strangers.back(), garbage.data(), 1, in(milliseconds(1000)));
  }
  EXPECT_EQ(come_while_admitting(credentials_, milliseconds(10'000)), "in");
  EXPECT_TRUE(admitted_);
}

TEST_F(GateTest, AThousandConnectionsKeepNobodyOut) {
  std::atomic<int> came = 0;
  std::jthread crowd = crowd_at(address_, {0}, came);
  std::string said;
  std::jthread guest([&] {
    while (came < 1000) std::this_thread::sleep_for(milliseconds(1));
    // As joining ranks do: a full house is no reason to give up.
    do said = come(credentials_);
    while (said == "out");
  });
  admitted_ = gate_->admit(in(milliseconds(30'000)));
  crowd.request_stop();
  guest.join();
  EXPECT_EQ(said, "in");
  EXPECT_TRUE(admitted_);
}

TEST_F(GateTest, HoldsNoMoreStrangersThanItSays) {
  std::vector<FileDescriptor> strangers;
  for (std::size_t i = 0; i < 3 * Gate::kMostStrangers; ++i) {
    strangers.push_back(connect());
    EXPECT_FALSE(gate_->admit(in(milliseconds(1))));
  }
  std::size_t held = 0;
  for (const FileDescriptor& stranger : strangers) {
    Challenge challenge;
    ASSERT_EQ(receive_all(stranger, &challenge, sizeof challenge, in(milliseconds(1000))), Moved::kAll);
    if (is_open(stranger)) ++held;
  }
  EXPECT_EQ(held, Gate::kMostStrangers);
}

/// Of which a process near its limit has fewer than there are places for strangers.
TEST_F(GateTest, StrangersThatHoldAllDescriptorsKeepNoRankOut) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  std::vector<FileDescriptor> silent(20);
  for (FileDescriptor& stranger : silent) stranger = connect();
  FileDescriptor rank = connect();
  const FileDescriptor next(::dup(rank.get()));
  const testing_support::Limit descriptors(RLIMIT_NOFILE, static_cast<rlim_t>(next.get()) + 10);
  std::string said;
  std::jthread guest([&] { said = come(credentials_, 0, milliseconds(10'000), std::move(rank)); });
  EXPECT_NO_THROW(admitted_ = gate_->admit(in(milliseconds(10'000))));
  guest.join();
  EXPECT_EQ(said, "in");
  EXPECT_TRUE(admitted_);
}

TEST_F(GateTest, WhoHasNoDescriptorThoughNoStrangerHoldsOneSaysSo) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const FileDescriptor waits = connect();
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 5);
  EXPECT_THAT([&] { gate_->admit(steady_clock::now()); },
              testing_support::refuses(ErrorCode::kTransport, "Accepting a rank's connection failed: Too many open"));
}

/// More than there are places come between any rank's connection and what proves it: where who came first went first,
/// none would ever get in.
TEST_F(GateTest, AFloodThatIsFasterThanARankPutsItOutByChanceOnly) {
  constexpr int kMostTries = 60;  // each ends well with 0.36, so that all fail once in 10^11
  int tries = 0;
  for (bool stayed = false; !stayed && tries < kMostTries; ++tries) {
    const FileDescriptor rank = connect();
    std::vector<FileDescriptor> flood;
    for (std::size_t i = 0; i < 2 * Gate::kMostStrangers; ++i) flood.push_back(connect());
    for (int pass = 0; pass < 3; ++pass) EXPECT_FALSE(gate_->admit(in(milliseconds(1))));
    Challenge challenge;
    ASSERT_EQ(receive_all(rank, &challenge, sizeof challenge, in(milliseconds(1000))), Moved::kAll);
    stayed = is_open(rank);
  }
  EXPECT_LT(tries, kMostTries);
}

/// While nobody else comes, too: who waits for a rank wakes at the deadline of a stranger.
TEST_F(GateTest, AStrangerThatProvesNothingIsClosedInTimeAndTheJobGoesOn) {
  constexpr milliseconds kLong(60'000);
  for (const milliseconds patience : {milliseconds(20), 2 * kLong}) {
    open(patience);
    std::jthread gate([&] { admitted_ = gate_->admit(in(kLong)); });
    const FileDescriptor silent = connect();
    const FileDescriptor slow = connect();
    EXPECT_EQ(send_all(slow, "x", 1, in(kLong)), Moved::kAll);
    const bool is_short = patience < kLong;
    for (const FileDescriptor* stranger : {&silent, &slow}) {
      Challenge challenge;
      ASSERT_EQ(receive_all(*stranger, &challenge, sizeof challenge, in(kLong)), Moved::kAll);
      char more = 0;
      const Deadline until = is_short ? in(kLong) : steady_clock::now();
      EXPECT_EQ(receive_all(*stranger, &more, 1, until), is_short ? Moved::kClosed : Moved::kTimeout);
    }
    EXPECT_EQ(come(credentials_, 0, kLong), "in");
    gate.join();
    EXPECT_TRUE(admitted_);
  }
}

/// A stranger is told nothing before it has proved something: a nonce, which depends on no secret.
TEST_F(GateTest, RefusalsSayNothing) {
  std::jthread gate([&] { admitted_ = gate_->admit(in(milliseconds(300))); });
  const FileDescriptor socket = connect();
  Challenge challenge;
  ASSERT_EQ(receive_all(socket, &challenge, sizeof challenge, in(milliseconds(5000))), Moved::kAll);
  const Claim claim{};
  ASSERT_EQ(send_all(socket, &claim, sizeof claim, in(milliseconds(5000))), Moved::kAll);
  Answer answer;
  ASSERT_EQ(receive_all(socket, &answer, sizeof answer, in(milliseconds(5000))), Moved::kAll);
  EXPECT_EQ(answer.accepted, 0U);
  EXPECT_THAT(answer.proof, testing::Each(0));
  char more = 0;
  EXPECT_EQ(receive_all(socket, &more, 1, in(milliseconds(5000))), Moved::kClosed);
}

/// A connector asks the listener for a proof too: what took its port is not talked to.
TEST_F(GateTest, ARankRefusesAListenerThatDoesNotKnowTheSecret) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  address_ = Address::of(listener);
  constexpr std::size_t kNothing = sizeof(Challenge);
  for (const std::size_t wrong :
       {kNothing, offsetof(Challenge, magic), offsetof(Challenge, protocol), offsetof(Challenge, byte_order)}) {
    std::jthread impostor([&] {
      FileDescriptor socket;
      while (!socket) socket = accept_from(listener);
      Challenge challenge = make_challenge();
      if (wrong != kNothing) std::as_writable_bytes(std::span(&challenge, 1))[wrong] ^= std::byte{1};
      (void)send_all(socket, &challenge, sizeof challenge, in(milliseconds(1000)));
      Claim claim;
      if (receive_all(socket, &claim, sizeof claim, in(milliseconds(1000))) != Moved::kAll) return;
      const Answer yes{.accepted = 1, .proof = claim.proof};
      (void)send_all(socket, &yes, sizeof yes, in(milliseconds(1000)));
    });
    EXPECT_THAT(come(credentials_),
                testing::HasSubstr(wrong == kNothing ? "do not share a secret" : "is no rank of this version"));
  }
}

/// Or what took its port could answer with what a rank said to another that came before.
TEST_F(GateTest, WhoComesAgainSaysSomethingNew) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  address_ = Address::of(listener);
  const Challenge challenge = make_challenge();
  std::array<Claim, 2> claims;
  for (Claim& claim : claims) {
    std::jthread impostor([&] {
      FileDescriptor socket;
      while (!socket) socket = accept_from(listener);
      EXPECT_EQ(send_all(socket, &challenge, sizeof challenge, in(milliseconds(5000))), Moved::kAll);
      EXPECT_EQ(receive_all(socket, &claim, sizeof claim, in(milliseconds(5000))), Moved::kAll);
    });
    EXPECT_EQ(come(credentials_), "out");
  }
  EXPECT_NE(claims[0].hello.nonce, claims[1].hello.nonce);
}

/// The system takes connections for a listener that never looks.
TEST_F(GateTest, AListenerThatSaysNothingIsNotWaitedForForEver) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  address_ = Address::of(listener);
  EXPECT_EQ(come(credentials_, 0, milliseconds(50)),
            "rank 0 did not answer where it listens; does it run, and is that a rank of this job?");
}

}  // namespace lockstep::tcp
