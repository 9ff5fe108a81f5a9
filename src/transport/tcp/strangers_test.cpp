// Strangers where ranks of a running job meet anew, as each split has them do: at the first one's and at the others'.
#include "transport/tcp/join.h"

#include "transport/tcp/crowd_for_tests.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/hmac_for_tests.h"
#include "transport/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kUntilLate{120'000};
constexpr std::array kAllChannels{Channel::kControl, Channel::kData, Channel::kMessages};

Hello hello_of(int from, int to, int size, Channel channel) {
  return {.from = from, .to = to, .size = size, .channel = channel, .listens_on = {}, .unused = 0, .nonce = {}};
}

/// All kinds of strangers at one address, for as long as it lives: many that say nothing, a byte or garbage, and some
/// that say that they are a rank and prove it by another secret or by none.
class Strangers {
 public:
  Strangers(const Address& address, const Credentials& rightful, const Hello& hello)
      : crowd_(crowd_at(address, {0, 1, 1000}, came_)) {
    const std::array wrong{Credentials{Secret::make(), rightful.job}, Credentials{Secret(), rightful.job}};
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      liars_.emplace_back([this, address, hello, i, credentials = wrong.at(i)](const std::stop_token& stop) {
        while (!stop.stop_requested()) lie(address, credentials, hello, refusals_.at(i));
      });
    }
  }

  /// Until there were many, and some of each kind.
  void await() const {
    const Deadline late = in(kUntilLate / 2);
    while (steady_clock::now() < late && !have_come()) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(have_come());
  }
  bool were_let_in() const { return let_in_; }

 private:
  bool have_come() const { return came_ >= 500 && refusals_[0] > 0 && refusals_[1] > 0; }

  void lie(const Address& address, const Credentials& credentials, const Hello& hello, std::atomic<int>& refusals) {
    try {
      const FileDescriptor socket = connect_to(address, in(milliseconds(100)));
      if (socket && introduce(socket, credentials, hello, in(milliseconds(1000)))) let_in_ = true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kMismatch) ++refusals;
    }
  }

  std::atomic<int> came_ = 0;
  std::array<std::atomic<int>, 2> refusals_{};  ///< of each kind of liar
  std::atomic<bool> let_in_ = false;
  std::jthread crowd_;
  std::vector<std::jthread> liars_;
};

class StrangersTest : public WithHmac {
 protected:
  void SetUp() override {
    WithHmac::SetUp();
    if (IsSkipped()) return;
    listener_ = listen_on(Address::resolve("127.0.0.1", 0));
    meeting_ = Address::of(listener_);
  }

  std::jthread join(int rank, int size) {
    return std::jthread([this, rank, size] {
      const auto at = static_cast<std::size_t>(rank);
      const JoinRequest request{
          .job = credentials_.job, .rank = rank, .size = size, .secret = credentials_.secret, .timeout = kUntilLate};
      try {
        hosts_.at(at) = join_at(request, meeting_, rank == 0 ? std::move(listener_) : FileDescriptor());
      } catch (const Error& error) {
        errors_.at(at) = error.what();
      }
    });
  }

  /// A connection to one that listens there, which takes some tries where it has a full house.
  FileDescriptor come(const Address& address, const Hello& hello) const {
    const Deadline late = in(kUntilLate);
    while (steady_clock::now() < late) {
      FileDescriptor socket = connect_to(address, late);
      if (introduce(socket, credentials_, hello, late)) return socket;
    }
    ADD_FAILURE() << "was never let in";
    return {};
  }

  static void expect_connected(const FileDescriptor& one, const FileDescriptor& other) {
    char got = 0;
    EXPECT_EQ(send_all(one, "x", 1, in(kUntilLate)), Moved::kAll);
    EXPECT_EQ(receive_all(other, &got, 1, in(kUntilLate)), Moved::kAll);
    EXPECT_EQ(got, 'x');
  }

  Credentials credentials_{Secret::make(), "a part"};
  FileDescriptor listener_;
  Address meeting_;
  std::array<Host, 2> hosts_;
  std::array<std::string, 2> errors_;
};

}  // namespace

TEST_F(StrangersTest, KeepNoRankFromAMeeting) {
  const Strangers strangers(meeting_, credentials_, hello_of(1, 0, 2, Channel::kControl));
  std::jthread leader = join(0, 2);
  strangers.await();
  join(1, 2).join();
  leader.join();
  ASSERT_THAT(errors_, testing::Each(""));
  EXPECT_FALSE(strangers.were_let_in());
  const Host::Link& to_follower = hosts_[0].links.at(1);
  const Host::Link& to_leader = hosts_[1].links.at(0);
  expect_connected(to_follower.control, to_leader.control);
  expect_connected(to_follower.data, to_leader.data);
  expect_connected(to_leader.messages, to_follower.messages);
}

/// The third rank is this test: only who has been let in hears where a follower listens.
TEST_F(StrangersTest, KeepNoRankFromOneThatFollows) {
  std::jthread leader = join(0, 3);
  std::jthread follower = join(1, 3);
  std::array<std::vector<FileDescriptor>, 2> links;  // to each of the two
  links[0].push_back(come(meeting_, hello_of(2, 0, 3, Channel::kControl)));
  Verdict verdict;
  std::array<Address::Wire, 3> addresses{};
  ASSERT_EQ(receive_all(links[0][0], &verdict, sizeof verdict, in(kUntilLate)), Moved::kAll);
  ASSERT_EQ(receive_all(links[0][0], addresses.data(), sizeof addresses, in(kUntilLate)), Moved::kAll);

  const Address address = Address::from_wire(addresses[1]);
  const Strangers strangers(address, credentials_, hello_of(2, 1, 3, Channel::kControl));
  strangers.await();
  for (const Channel channel : {Channel::kData, Channel::kMessages}) {
    links[0].push_back(come(meeting_, hello_of(2, 0, 3, channel)));
  }
  for (const Channel channel : kAllChannels) links[1].push_back(come(address, hello_of(2, 1, 3, channel)));
  verdict = Verdict::yes();
  EXPECT_EQ(send_all(links[0][0], &verdict, sizeof verdict, in(kUntilLate)), Moved::kAll);
  leader.join();
  follower.join();
  ASSERT_THAT(errors_, testing::Each(""));
  EXPECT_FALSE(strangers.were_let_in());
  const Host::Link& of_follower = hosts_[1].links.at(2);
  expect_connected(links[1][0], of_follower.control);
  expect_connected(links[1][1], of_follower.data);
  expect_connected(links[1][2], of_follower.messages);
}

}  // namespace lockstep::tcp
