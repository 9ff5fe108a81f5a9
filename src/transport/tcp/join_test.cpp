#include "transport/tcp/join.h"

#include "base/limit_for_tests.h"
#include "transport/tcp/crowd_for_tests.h"
#include "transport/tcp/join_for_tests.h"
#include "transport/tcp/piece_bytes.h"
#include "transport/tcp/tcp_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;

/// Of an interface that is no loopback; empty where there is none.
std::string own_address_that_others_reach() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(all, ::freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    constexpr unsigned kNeeded = IFF_UP | IFF_RUNNING;
    const bool usable = (one->ifa_flags & kNeeded) == kNeeded && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto& address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    if (::inet_ntop(AF_INET, &address, text.data(), text.size()) != nullptr) return text.data();
  }
  return "";
}

}  // namespace

TEST_F(JoinTest, ConnectsEachTwoRanks) {
  for (const int size : {2, 3, 5}) {
    EXPECT_THAT(join(world(size)), testing::Each(""));
    expect_each_two_connected(size);
  }
}

TEST_F(JoinTest, LargeBuffersGoInPiecesWhereAllListenOnLoopback) {
  ASSERT_THAT(join(world(3)), testing::Each(""));
  for (const Host& host : hosts_) EXPECT_EQ(host.piece_bytes, kPieceBytesOverLoopback);
}

TEST_F(JoinTest, AllChooseWholeBuffersWhereOneListensElsewhere) {
  std::vector<JoinRequest> requests = world(3);
  requests[1].listen_on = own_address_that_others_reach();
  if (requests[1].listen_on.empty()) GTEST_SKIP() << "this machine has a loopback interface only";
  ASSERT_THAT(join(requests), testing::Each(""));
  for (const Host& host : hosts_) EXPECT_EQ(host.piece_bytes, 0U);
}

/// Peers of other machines would connect to themselves.
TEST_F(JoinTest, WhoListensOnAllAddressesTellsTheOneByWhichItReachedRank0) {
  const FileDescriptor all = open_own_listener(1, "0.0.0.0", Address::resolve("127.0.0.1", 0), true);
  const Address told = told_to_peers(all, Address::resolve("192.0.2.1", 4711));
  EXPECT_EQ(told.to_string(), fmt::format("192.0.2.1:{}", Address::of(all).to_wire().port));
  const FileDescriptor one = open_own_listener(1, "127.0.0.1", Address::resolve("127.0.0.1", 0), true);
  EXPECT_EQ(told_to_peers(one, Address::resolve("192.0.2.1", 4711)).to_string(), Address::of(one).to_string());
  auto requests = world(3);
  requests[1].listen_on = "0.0.0.0";
  EXPECT_THAT(join(requests), testing::Each(""));
  requests[1].listen_on = "::";
  EXPECT_THAT(join(requests)[1], testing::StartsWith("Rank 1 would take no connection to 127.0.0.1:"));
}

/// As where a name has an IPv4 and an IPv6 address, and rank 0 listens at one of them.
TEST_F(JoinTest, Rank0IsFoundAtAnyAddressOfItsName) {
  auto requests = world(3);
  for (JoinRequest& one : requests) {
    one.meet_at = "node0";
    one.lookup = [is_rank0 = one.rank == 0](const char*, const char* port, const addrinfo* hints, addrinfo** found) {
      const int error = ::getaddrinfo(is_rank0 ? "192.0.2.1" : "127.0.0.8", port, hints, found);
      return error != 0 ? error : ::getaddrinfo("127.0.0.9", port, hints, &(*found)->ai_next);
    };
  }
  ASSERT_THAT(join(requests), testing::Each(""));
  expect_each_two_connected(3);
  requests[1].timeout = milliseconds(50);
  EXPECT_THAT(join({requests[1]})[0],
              testing::HasSubstr(fmt::format("rank 0 to appear at 127.0.0.8:{0} or 127.0.0.9:{0} (the last try: "
                                             "Connection refused)",
                                             port_.number)));
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

}  // namespace lockstep::tcp
