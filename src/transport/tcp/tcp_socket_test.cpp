#include "transport/tcp/tcp_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"
#include "transport/tcp/deadline_for_tests.h"
#include "transport/tcp/send_buffer.h"

namespace lockstep::tcp {

namespace {

std::atomic<int> signals_handled{0};

/// Interrupts the calls of the thread that made it, again and again; by a signal that is passed over elsewhere.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction counts {};
    counts.sa_handler = [](int) { ++signals_handled; };
    ::sigaction(SIGURG, &counts, &before_);
    signals_ = std::jthread([waits = ::pthread_self()](const std::stop_token& over) {
      for (; !over.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        ::pthread_kill(waits, SIGURG);
      }
    });
  }
  ~Interruptions() {
    signals_ = {};
    ::sigaction(SIGURG, &before_, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  struct sigaction before_ {};
  std::jthread signals_;
};

}  // namespace

TEST(TcpAddress, ReadsWritesAndTravels) {
  for (const auto& [host, text, loopback] : {std::tuple{"127.0.0.1", "127.0.0.1:80", true},
                                             {"127.0.1.1", "127.0.1.1:80", true},
                                             {"::1", "[::1]:80", true},
                                             {"10.1.2.3", "10.1.2.3:80", false},
                                             {"126.0.0.1", "126.0.0.1:80", false},
                                             {"128.0.0.1", "128.0.0.1:80", false},
                                             {"0.0.0.0", "0.0.0.0:80", false}}) {
    const Address address = Address::resolve(host, 80);
    EXPECT_EQ(address.to_string(), text);
    EXPECT_EQ(address.is_loopback(), loopback) << text;
    EXPECT_EQ(Address::from_wire(address.to_wire()).to_string(), text);
  }
  EXPECT_EQ(Address().to_string(), "no address");
  EXPECT_FALSE(Address().is_loopback());
}

namespace {

/// Of names that stand for nothing until they have been asked for so often.
auto known_after(int times, int error, int& asked) {
  return [times, error, &asked](const char*, const char* port, const addrinfo* hints, addrinfo** found) {
    return ++asked <= times ? error : ::getaddrinfo("127.0.0.7", port, hints, found);
  };
}

}  // namespace

TEST(TcpAddress, ANameThatStandsForNothingYetIsAskedForAgain) {
  for (const int error : {EAI_AGAIN, EAI_NONAME, EAI_NODATA}) {
    int asked = 0;
    const NamePatience patience{.timeout = std::chrono::seconds(60), .lookup = known_after(2, error, asked)};
    EXPECT_EQ(Address::resolve("node7", 80, {}, patience).to_string(), "127.0.0.7:80");
    EXPECT_EQ(asked, 3);
  }
}

TEST(TcpAddress, ANameThatNeverStandsForAnythingIsSaidAtTheDeadline) {
  int asked = 0;
  NamePatience patience{.timeout = std::chrono::seconds(1), .lookup = known_after(1'000'000, EAI_AGAIN, asked)};
  EXPECT_THAT([&] { Address::resolve("node7", 80, "set it to another", patience); },
              testing_support::refuses(ErrorCode::kInvalidArgument,
                                       "'node7' is no address that this machine knows (Temporary failure in name "
                                       "resolution), nor did it become one in 1 s; set it to another."));
  EXPECT_GT(asked, 1);
  EXPECT_LE(asked, 12) << "not again and again without a rest";
}

TEST(TcpAddress, WhatWaitingDoesNotMendIsSaidAtOnce) {
  for (const auto& [timeout_s, error] : {std::pair{0, EAI_AGAIN}, {600, EAI_FAIL}}) {
    int asked = 0;
    const NamePatience patience{.timeout = std::chrono::seconds(timeout_s), .lookup = known_after(1, error, asked)};
    EXPECT_THAT([&] { Address::resolve("node7", 80, "set it to another", patience); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "); set it to another."));
    EXPECT_EQ(asked, 1);
  }
}

TEST(TcpAddress, OneThatHoldsOnItsLinkOnlyIsRefused) {
  for (const std::string host : {"fe80::1", "fe80::1%1", "fe80::7"}) {
    EXPECT_THAT([&] { Address::resolve(host, 80, "set it to another"); },
                testing_support::refuses(ErrorCode::kInvalidArgument,
                                         "'" + host + "' is [" + host.substr(0, 7) + "]:80, an address of one link"));
    EXPECT_THAT([&] { Address::resolve(host, 80, "set it to another"); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "not begin with fe80; set it to another."));
  }
  EXPECT_NO_THROW(Address::resolve("fec0::1", 80));
}

namespace {

/// Of a name that stands for several addresses.
NameLookup known_as(std::vector<std::string> addresses) {
  return [addresses = std::move(addresses)](const char*, const char* port, const addrinfo* hints, addrinfo** found) {
    addrinfo** end = found;
    for (const std::string& address : addresses) {
      const int error = ::getaddrinfo(address.c_str(), port, hints, end);
      if (error != 0) return error;
      while (*end != nullptr) end = &(*end)->ai_next;
    }
    return 0;
  };
}

}  // namespace

TEST(TcpAddress, AllThatANameStandsForIsKeptButWhatHoldsOnOneLinkOnly) {
  const NamePatience names{.lookup = known_as({"fe80::1", "127.0.0.7", "fe80::2", "::1"})};
  EXPECT_EQ(in_words(Address::resolve_all("node7", 80, {}, names)), "127.0.0.7:80 or [::1]:80");
  EXPECT_EQ(Address::resolve("node7", 80, {}, names).to_string(), "127.0.0.7:80");
}

TEST(TcpAddress, IsASocketsOnly) {
  const FileDescriptor none;
  EXPECT_THAT([&] { Address::of(none); },
              testing_support::refuses(ErrorCode::kTransport, "Asking a socket for its address failed: Bad file"));
  EXPECT_THAT(
      [&] { Address::peer_of(none); },
      testing_support::refuses(ErrorCode::kTransport, "Asking a socket for its peer's address failed: Bad file"));
}

TEST(TcpAddress, OfAPeerThatIsNotThereIsNone) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  EXPECT_FALSE(Address::peer_of(listener).has_value());
  const FileDescriptor one = connect_to(Address::of(listener), in(std::chrono::seconds(5)));
  ASSERT_TRUE(Address::peer_of(one).has_value());
  EXPECT_EQ(Address::peer_of(one)->to_string(), Address::of(listener).to_string());
}

TEST(TcpSocket, ListensWhereAskedAndNowhereElse) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  const Address address = Address::of(listener);
  EXPECT_TRUE(connect_to(address, in(std::chrono::seconds(5))));
  const Address elsewhere = Address::resolve("127.0.0.2", address.to_wire().port);
  EXPECT_FALSE(connect_to(elsewhere, in(std::chrono::milliseconds(30))));
}

namespace {

const Address kNoMachines = Address::resolve("192.0.2.1", 0);  // for documentation

}  // namespace

TEST(TcpSocket, ListensOnTheFirstAddressThatIsItsOwn) {
  const Address own = Address::resolve("127.0.0.3", 0);
  const FileDescriptor listener = listen_on_one_of(std::vector{kNoMachines, own, Address::resolve("127.0.0.4", 0)});
  EXPECT_EQ(Address::of(listener).with_port(0).to_string(), own.to_string());
  EXPECT_THAT(
      [&] {
        listen_on_one_of(std::vector{kNoMachines, kNoMachines}, "set another");
      },
      testing_support::refuses(ErrorCode::kTransport,
                               "Listening on 192.0.2.1:0 failed: Cannot assign requested address; set another."));
  EXPECT_THAT(
      [&] {
        listen_on_one_of(std::vector{Address::of(listener), own});
      },
      testing_support::refuses(ErrorCode::kTransport, "Address already in use"));
}

/// Whatever the others meet: nobody who listens, a way that is closed, and one that does not answer at all.
TEST(TcpSocket, FindsWhoListensAtOneOfSeveralAddresses) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.3", 0));
  const Address there = Address::of(listener);
  const Address no_one = Address::resolve("127.0.0.4", there.to_wire().port);
  const Address forbidden = Address::resolve("255.255.255.255", there.to_wire().port);
  const FileDescriptor full = listen_on(Address::resolve("127.0.0.5", 0));
  ASSERT_EQ(::listen(full.get(), 0), 0);
  const FileDescriptor in_its_queue = connect_to(Address::of(full), in(std::chrono::seconds(5)));
  EXPECT_FALSE(connect_to(Address::of(full), in(std::chrono::milliseconds(50)))) << "it answers";
  const std::vector places{no_one, forbidden, Address::of(full), there};
  const FileDescriptor socket = connect_to_one_of(places, in(std::chrono::seconds(60)));
  ASSERT_TRUE(socket);
  EXPECT_EQ(Address::peer_of(socket)->to_string(), there.to_string());
  EXPECT_FALSE(connect_to_one_of(std::span(places).first(2), in(std::chrono::milliseconds(30))));
  EXPECT_EQ(errno, ENETUNREACH);
}

TEST(TcpSocket, APortThatIsTakenIsSaid) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  try {
    listen_on(Address::of(listener));
    FAIL() << "listens twice";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr(Address::of(listener).to_string()),
                                             testing::HasSubstr("already in use")));
  }
}

TEST(TcpSocket, WhoHasNoDescriptorLeftIsToldAndDoesNotTryForEver) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  const FileDescriptor waits =
      connect_to(Address::of(listener), std::chrono::steady_clock::now() + std::chrono::seconds(5));
  ASSERT_TRUE(waits);
  const Address address = Address::of(listener);
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT([&] { accept_from(listener); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("Accepting a rank's connection failed: Too many open")));
  EXPECT_THAT([&] { connect_to(address, in(std::chrono::seconds(5))); },
              testing_support::refuses(ErrorCode::kTransport, "Making a TCP socket failed: Too many open files"));
}

/// Of a link's own address nobody knows which link is meant.
TEST(TcpSocket, WhereNobodyCanBeIsNotTriedForEver) {
  if (!FileDescriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0))) GTEST_SKIP() << "there is no IPv6 here";
  Address::Wire wire{.family = 6, .port = 80};
  wire.bytes[0] = 0xfe;
  wire.bytes[1] = 0x80;
  wire.bytes[15] = 1;
  const Address nowhere = Address::from_wire(wire);
  EXPECT_THAT([&] { connect_to(nowhere, in(std::chrono::seconds(5))); },
              testing_support::refuses(ErrorCode::kTransport, "Connecting to [fe80::1]:80 failed: Invalid argument"));
}

TEST(TcpSocket, SaysWhetherAllMoved) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  const FileDescriptor one = connect_to(Address::of(listener), in(std::chrono::seconds(5)));
  FileDescriptor other;
  while (!other) other = accept_from(listener);
  int value = 7;
  EXPECT_EQ(send_all(one, &value, sizeof value, in(std::chrono::seconds(5))), Moved::kAll);
  int got = 0;
  EXPECT_EQ(receive_all(other, &got, sizeof got, in(std::chrono::seconds(5))), Moved::kAll);
  EXPECT_EQ(got, 7);
  EXPECT_EQ(receive_all(other, &got, sizeof got, in(std::chrono::milliseconds(10))), Moved::kTimeout);
  other.reset();
  EXPECT_EQ(receive_all(one, &got, sizeof got, in(std::chrono::seconds(5))), Moved::kClosed);
}

namespace {

/// Two ends of a connection, of which the first has sent all that there was room for.
class FullConnection : public testing::Test {
 protected:
  void SetUp() override {
    const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
    one_ = connect_to(Address::of(listener), in(std::chrono::seconds(5)));
    while (!other_) other_ = accept_from(listener);
    const std::vector<char> much(1 << 20);
    ssize_t sent = 0;
    while ((sent = ::send(one_.get(), much.data(), much.size(), MSG_NOSIGNAL)) > 0) {
      sent_ += static_cast<std::size_t>(sent);
    }
  }

  void finish(Deadline deadline) {
    pollfd socket{one_.get(), POLLIN, 0};
    finish_sending(std::span(&socket, 1), deadline);
  }
  bool send_to_it() { return ::send(other_.get(), "late", 4, MSG_NOSIGNAL) == 4; }
  /// How many bytes arrive before the connection is over.
  std::size_t take_all() {
    std::vector<char> some(1 << 16);
    std::size_t taken = 0;
    while (receive_all(other_, some.data(), 1, in(std::chrono::seconds(20))) == Moved::kAll) {
      const ssize_t rest = ::recv(other_.get(), some.data(), some.size(), 0);
      taken += 1 + static_cast<std::size_t>(std::max<ssize_t>(rest, 0));
    }
    return taken;
  }

  FileDescriptor one_;
  FileDescriptor other_;
  std::size_t sent_ = 0;
};

}  // namespace

/// Before it begins to close, and while what it sent waits to be taken.
TEST_F(FullConnection, AllArrivesFromWhoClosesWhateverComesMeanwhile) {
  ASSERT_TRUE(send_to_it());
  std::jthread closes([&] {
    finish(in(std::chrono::seconds(60)));
    one_.reset();
  });
  for (int time = 0; time < 5; ++time) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(send_to_it());
  }
  EXPECT_EQ(take_all(), sent_);
}

TEST_F(FullConnection, WhoDoesNotTakeItIsWaitedForUntilTheDeadlineOnly) {
  finish(in(std::chrono::milliseconds(30)));
  one_.reset();
  EXPECT_EQ(take_all(), sent_) << "the system goes on";
}

TEST_F(FullConnection, WhoIsGoneIsNotWaitedFor) {
  const auto begin = std::chrono::steady_clock::now();
  other_.reset();
  finish(in(std::chrono::seconds(600)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(FullConnection, WhoHasAllAndStaysIsNotWaitedFor) {
  std::vector<char> all(sent_);
  ASSERT_EQ(receive_all(other_, all.data(), all.size(), in(std::chrono::seconds(20))), Moved::kAll);
  const auto begin = std::chrono::steady_clock::now();
  finish(in(std::chrono::seconds(600)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  one_.reset();
  EXPECT_TRUE(send_to_it());
}

TEST(TcpSocket, ASignalEndsNoWaitWhateverTheLookLeavesInErrno) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  const FileDescriptor one = connect_to(Address::of(listener), in(std::chrono::seconds(5)));
  FileDescriptor other;
  while (!other) other = accept_from(listener);
  const int before = signals_handled;
  const Interruptions interruptions;
  int looks = 0;
  const auto look = [&] {
    if (++looks == 20) ::send(one.get(), "x", 1, MSG_NOSIGNAL);
    errno = EAGAIN;
  };
  char got = 0;
  EXPECT_EQ(receive_all(other, &got, 1, in(std::chrono::seconds(20)), look), Moved::kAll);
  EXPECT_GE(looks, 20);
  EXPECT_GT(signals_handled, before);
}

/// As the system's default would have paced it, which it goes on to do when it is told otherwise later.
TEST(TcpSocket, OverLoopbackNothingIsPacedFromTheStart) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  const FileDescriptor one = connect_to(Address::of(listener), in(std::chrono::seconds(5)));
  FileDescriptor other;
  while (!other) other = accept_from(listener);
  for (const int socket : {listener.get(), one.get(), other.get()}) {
    std::array<char, 16> name{};
    socklen_t bytes = name.size();
    ASSERT_EQ(::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &bytes), 0);
    EXPECT_STREQ(name.data(), "reno");
  }
}

TEST(TcpSocket, RanksThatTakeTurnsHaveLessOnItsWay) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  const auto send_buffer_for = [&](int ranks_here) {
    const FileDescriptor socket = connect_to(Address::of(listener), in(std::chrono::seconds(5)));
    const int asked = 64 << 10;
    EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &asked, sizeof asked), 0);
    prepare(socket, ranks_here);
    int bytes = 0;
    socklen_t size = sizeof bytes;
    EXPECT_EQ(::getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
    return bytes;
  };
  constexpr int kMoreThanCores = 1 << 20;
  const int in_turns = send_buffer_for(kMoreThanCores);
  EXPECT_GT(in_turns, 128 << 10) << "asked for anew";
  EXPECT_LE(in_turns, 1 << 20);
  const auto as_large_as_may_be = send_buffer_bytes(false);
  EXPECT_EQ(send_buffer_for(1), as_large_as_may_be ? 2 * *as_large_as_may_be : 128 << 10) << "the system doubles it";
}

}  // namespace lockstep::tcp
