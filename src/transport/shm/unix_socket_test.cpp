#include "transport/shm/unix_socket.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <thread>

namespace lockstep::shm {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing_support::refuses;

class UnixSocket : public testing::Test {
 protected:
  std::string name_ = fmt::format("lockstep-test-{}", ::getpid());
  Deadline soon_ = steady_clock::now() + milliseconds(20'000);
  Deadline now_ = steady_clock::now();
};

TEST_F(UnixSocket, CarriesBytesAndFiles) {
  const FileDescriptor listener = listen_on(name_);
  const auto client = connect_to(name_, soon_);
  ASSERT_TRUE(client);
  const auto server = accept_from(listener);
  ASSERT_TRUE(server);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor read_end(ends[0]);
  send_message(*client, "hello", 5, {ends[1]}, soon_);
  ::close(ends[1]);
  auto message = receive_message(*server, 16, soon_);
  ASSERT_TRUE(message);
  EXPECT_EQ(std::memcmp(message->bytes.data(), "hello", 5), 0);
  ASSERT_EQ(message->files.size(), 1U);
  EXPECT_EQ(::write(message->files[0].get(), "x", 1), 1);
  char got = 0;
  EXPECT_EQ(::read(read_end.get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
}

TEST_F(UnixSocket, NobodyThereEndsAtTheDeadline) {
  EXPECT_FALSE(connect_to(name_, now_));
  const FileDescriptor listener = listen_on(name_);
  EXPECT_FALSE(accept_from(listener));
  const auto client = connect_to(name_, soon_);
  EXPECT_FALSE(receive_message(*client, 16, now_));
}

/// As who is stopped: the queue of those that came before is full.
TEST_F(UnixSocket, WhoTakesNoConnectionIsWaitedForUntilTheDeadline) {
  FileDescriptor listener = listen_on(name_);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const auto first = connect_to(name_, soon_);
  ASSERT_TRUE(first) << "a queue holds one, however short";
  EXPECT_EQ(::fcntl(first->get(), F_GETFL) & O_NONBLOCK, 0) << "who reads from it may wait";
  const auto connect_by = [&](Deadline deadline) {
    return std::async(std::launch::async, [this, deadline] { return connect_to(name_, deadline).has_value(); });
  };
  std::future<bool> late = connect_by(steady_clock::now() + milliseconds(30));
  const bool is_told = late.wait_until(soon_) == std::future_status::ready;
  EXPECT_TRUE(is_told) << "it waits past its deadline";
  if (!is_told) listener.reset();  // which ends its wait
  EXPECT_FALSE(late.get());
  if (!is_told) return;
  std::future<bool> patient = connect_by(soon_);
  while (patient.wait_for(milliseconds(1)) != std::future_status::ready) (void)accept_from(listener);
  EXPECT_TRUE(patient.get()) << "once there was room";
}

TEST_F(UnixSocket, ATakenNameIsAnError) {
  const FileDescriptor listener = listen_on(name_);
  EXPECT_THAT(
      [&] { listen_on(name_); },
      refuses(ErrorCode::kTransport, "Listening as '" + name_ + "' (is another job with this identity running?)"));
}

/// Whose process listens, or came, is seen by who looks: here the same process, which is another user's meanwhile.
TEST_F(UnixSocket, AnotherUsersProcessIsNoRank) {
  constexpr uid_t kOther = 65'534;
  const uid_t own = ::geteuid();
  if (own != 0 || ::seteuid(kOther) != 0) GTEST_SKIP() << "only root may be another user for a while";
  const FileDescriptor others = listen_on(name_);
  ASSERT_EQ(::seteuid(own), 0);
  EXPECT_THAT([&] { connect_to(name_, soon_); },
              refuses(ErrorCode::kTransport, "Another user's process answers as '" + name_ + "'"));
  const FileDescriptor ours = listen_on(name_ + "-ours");
  ASSERT_EQ(::seteuid(kOther), 0);
  EXPECT_THAT([&] { connect_to(name_ + "-ours", soon_); },
              refuses(ErrorCode::kTransport, "Another user's process answers as '" + name_ + "-ours'"));
  ASSERT_EQ(::seteuid(own), 0);
  EXPECT_FALSE(accept_from(ours)) << "who came is another user's";
}

TEST_F(UnixSocket, AHungUpOrTalkativePeerIsAnError) {
  const FileDescriptor listener = listen_on(name_);
  auto client = connect_to(name_, soon_);
  const auto server = accept_from(listener);
  send_message(*client, "seventeen bytes!!", 17, {}, soon_);
  EXPECT_THAT([&] { receive_message(*server, 16, soon_); },
              refuses(ErrorCode::kTransport, "A peer sent more than a rank sends while the group is being formed."));
  client.reset();
  EXPECT_THAT([&] { receive_message(*server, 16, soon_); },
              refuses(ErrorCode::kTransport, "A rank hung up while the group was being formed."));
  EXPECT_EQ(send_message(*server, "x", 1, {}, soon_), Sent::kGone);
}

TEST_F(UnixSocket, WhoTakesNothingIsWaitedForUntilTheDeadline) {
  const FileDescriptor listener = listen_on(name_);
  const auto client = connect_to(name_, soon_);
  auto server = accept_from(listener);
  ASSERT_TRUE(server);
  const auto send_one = [&](Deadline deadline) { return send_message(*client, "x", 1, {}, deadline); };
  constexpr int kFarTooMany = 1'000'000;
  int sent = 0;
  while (sent < kFarTooMany && send_one(now_) == Sent::kAll) ++sent;
  ASSERT_LT(sent, kFarTooMany) << "it all had room";
  EXPECT_EQ(send_one(steady_clock::now() + milliseconds(10)), Sent::kLate);
  {
    Sent last = Sent::kLate;
    std::jthread sender([&] { last = send_one(soon_); });
    for (int taken = 0; taken <= sent; ++taken) ASSERT_TRUE(receive_message(*server, 1, soon_));
    sender.join();
    EXPECT_EQ(last, Sent::kAll) << "once there was room";
  }
  while (send_one(now_) == Sent::kAll) continue;
  Sent last = Sent::kLate;
  std::jthread sender([&] { last = send_one(soon_); });
  server.reset();
  sender.join();
  EXPECT_EQ(last, Sent::kGone);
}

/// They count for who sends them, unless he is privileged; no more than he may have open.
TEST_F(UnixSocket, WhoHasTooManyDescriptorsUnderWayWaitsUntilTheDeadline) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const uid_t own = ::geteuid();
  const FileDescriptor listener = listen_on(name_);
  const auto client = connect_to(name_, soon_);
  const auto server = accept_from(listener);
  ASSERT_TRUE(server);
  constexpr int kMay = 40;
  ASSERT_LT(server->get(), kMay);
  const testing_support::Limit descriptors(RLIMIT_NOFILE, kMay);
  ASSERT_EQ(own == 0 ? ::seteuid(65'534) : 0, 0);
  const auto send_far_too_many = [&] {
    for (int sent = 0; sent < 4 * kMay; ++sent) send_message(*client, "x", 1, {listener.get()}, now_);
  };
  EXPECT_THAT(send_far_too_many, refuses(ErrorCode::kTransport, "Sending to a peer failed: Too many references"));
  Sent last = Sent::kLate;
  std::jthread sender([&] { last = send_message(*client, "x", 1, {listener.get()}, soon_); });
  while (receive_message(*server, 1, steady_clock::now() + milliseconds(200))) continue;
  sender.join();
  EXPECT_EQ(last, Sent::kAll);
  ASSERT_EQ(::seteuid(own), 0);
}

TEST_F(UnixSocket, APeerThatEndsWithoutReadingIsHeardToItsEnd) {
  const FileDescriptor listener = listen_on(name_);
  auto client = connect_to(name_, soon_);
  const auto server = accept_from(listener);
  EXPECT_EQ(state_of(*server), Line::kSilent);
  send_message(*server, "x", 1, {}, soon_);
  send_message(*client, "why", 3, {}, soon_);
  client.reset();
  const auto last = receive_message(*server, 16, soon_);
  ASSERT_TRUE(last) << "the reset is told first";
  EXPECT_EQ(last->bytes.size(), 3U);
  EXPECT_EQ(state_of(*server), Line::kOver);
  EXPECT_THAT([&] { receive_message(*server, 16, soon_); },
              refuses(ErrorCode::kTransport, "A rank hung up while the group was being formed."));
}

TEST_F(UnixSocket, ALookGetsPastAReset) {
  const FileDescriptor listener = listen_on(name_);
  auto client = connect_to(name_, soon_);
  const auto server = accept_from(listener);
  send_message(*server, "x", 1, {}, soon_);
  send_message(*client, "why", 3, {}, soon_);
  client.reset();
  EXPECT_EQ(state_of(*server), Line::kSpeaks);
  EXPECT_TRUE(receive_message(*server, 16, soon_));
  EXPECT_EQ(state_of(*server), Line::kOver);
}

TEST_F(UnixSocket, WhoHasNoDescriptorLeftIsTold) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const FileDescriptor listener = listen_on(name_);
  const auto client = connect_to(name_, soon_);
  const auto server = accept_from(listener);
  ASSERT_TRUE(server);
  send_message(*client, "x", 1, {listener.get()}, soon_);
  const auto next_client = connect_to(name_, soon_);
  const FileDescriptor next(::dup(listener.get()));  // all below it are taken, and it is the first that may not be
  const testing_support::Limit descriptors(RLIMIT_NOFILE, static_cast<rlim_t>(next.get()));
  EXPECT_THAT([&] { receive_message(*server, 16, soon_); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("no descriptor left")));
  EXPECT_THAT([&] { accept_from(listener); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("Accepting a rank's connection failed: Too many open")));
  EXPECT_THAT([&] { connect_to(name_, soon_); },
              refuses(ErrorCode::kTransport, "Making a Unix socket failed: Too many open files"));
  const testing_support::Limit none(RLIMIT_NOFILE, 0);
  EXPECT_THAT([&] { receive_message(*server, 16, soon_); },
              refuses(ErrorCode::kTransport, "Waiting for a peer (poll) failed: Invalid argument"));
}

}  // namespace lockstep::shm
