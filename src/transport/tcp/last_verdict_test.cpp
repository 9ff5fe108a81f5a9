// Rank 0 hears that the last rank is ready only when the time to join is over.
#include "base/held_port.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/hmac.h"
#include "transport/tcp/join.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/verdict.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lockstep::tcp {

namespace {

std::chrono::steady_clock::time_point soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

/// What rank 1 of two is for rank 0, and no more.
class HandMadeRank {
 public:
  explicit HandMadeRank(const JoinRequest& to) : to_(to) {
    connect(Channel::kControl);
    std::array<char, sizeof(Verdict) + 2 * sizeof(Address::Wire)> introduction{};
    EXPECT_EQ(receive_all(control(), introduction.data(), introduction.size(), soon()), Moved::kAll);
    connect(Channel::kData);
    connect(Channel::kMessages);
  }
  void say_that_it_is_ready() {
    const Verdict yes = Verdict::yes();
    EXPECT_EQ(send_all(control(), &yes, sizeof yes, soon()), Moved::kAll);
  }
  void expect_that_all_begin() {
    Verdict answer;
    EXPECT_EQ(receive_all(control(), &answer, sizeof answer, soon()), Moved::kAll);
    EXPECT_NO_THROW(answer.require_accepted(1));
  }

 private:
  const FileDescriptor& control() const { return sockets_.front(); }
  void connect(Channel channel) {
    sockets_.push_back(connect_to(Address::resolve(to_.meet_at, to_.port), soon()));
    const Hello hello{.from = 1, .to = 0, .size = 2, .channel = channel, .listens_on = {}, .unused = 0, .nonce = {}};
    EXPECT_TRUE(introduce(sockets_.back(), {.secret = to_.secret.value(), .job = to_.job}, hello, soon()));
  }

  const JoinRequest& to_;
  std::vector<FileDescriptor> sockets_;
};

}  // namespace

TEST(LastVerdict, MayComeWithTheDeadline) {
  if (!hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  const HeldPort port = hold_port();
  std::atomic<bool> has_connected = false;
  std::atomic<bool> is_ready = false;
  JoinRequest leads{.job = "last_verdict_test",
                    .rank = 0,
                    .size = 2,
                    .port = port.number,
                    .secret = Secret::make(),
                    .timeout = std::chrono::milliseconds(500)};
  leads.company.look = [&] {
    if (!has_connected) return;
    while (!is_ready) std::this_thread::yield();
    std::this_thread::sleep_for(leads.timeout);
  };
  std::jthread follows([&] {
    HandMadeRank rank(leads);
    has_connected = true;
    rank.say_that_it_is_ready();
    is_ready = true;
    rank.expect_that_all_begin();
  });
  EXPECT_NO_THROW(join_processes(leads));
}

}  // namespace lockstep::tcp
