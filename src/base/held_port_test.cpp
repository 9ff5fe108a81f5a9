#include "base/held_port.h"

#include "base/child_for_tests.h"
#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"
#include "base/network_for_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace lockstep {

namespace {

FileDescriptor socket_that_reuses() {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
  return socket;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

/// 0, or the error that says why not.
template <class Call>
int error_of(Call call, const FileDescriptor& socket, const sockaddr_in& address) {
  return call(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

int listen_at(const FileDescriptor& socket, int port) {
  if (const int error = error_of(::bind, socket, loopback(port))) return error;
  return ::listen(socket.get(), 1) == 0 ? 0 : errno;
}

}  // namespace

TEST(HeldPort, OneMayListenThereAndOnlyOne) {
  const HeldPort port = hold_port();
  const FileDescriptor listener = socket_that_reuses();
  EXPECT_EQ(listen_at(listener, port.number), 0);
  EXPECT_EQ(error_of(::connect, socket_that_reuses(), loopback(port.number)), 0);
  EXPECT_EQ(listen_at(socket_that_reuses(), port.number), EADDRINUSE);
}

TEST(HeldPort, UntilThenNobodyIsThere) {
  const HeldPort port = hold_port();
  EXPECT_EQ(error_of(::connect, socket_that_reuses(), loopback(port.number)), ECONNREFUSED);
}

TEST(HeldPort, NobodyIsGivenItWhoAsksForAnyPort) {
  const auto ask = [] {
    const HeldPort port = hold_port();
    const int listens = listen_at(socket_that_reuses(), 0);
    const int connects = error_of(::connect, socket_that_reuses(), loopback(port.number));
    return fmt::format("{}: {}, {}", port.number, std::strerror(listens), std::strerror(connects));
  };
  const auto said = testing_support::said_in_child(testing_support::leave_one_port, ask);
  if (!said) GTEST_SKIP() << testing_support::kWhyNoNetwork;
  EXPECT_EQ(*said, "40000: Address already in use, Cannot assign requested address");
}

TEST(HeldPort, NoTwoHaveTheSame) {
  const auto ask = [] {
    const HeldPort first = hold_port();
    const HeldPort second = hold_port();
    return "both";
  };
  const auto said = testing_support::said_in_child(testing_support::leave_one_port, ask);
  if (!said) GTEST_SKIP() << testing_support::kWhyNoNetwork;
  EXPECT_EQ(*said, "Finding a free port on 127.0.0.1 failed: Address already in use.");
}

TEST(HeldPort, WithoutADescriptorThereIsNone) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT(hold_port, testing_support::refuses(ErrorCode::kTransport,
                                                  "Making a socket to find a free port failed: Too many open files"));
}

}  // namespace lockstep
