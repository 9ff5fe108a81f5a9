// What peers say beside the data, over a connection that holds only a few words.
#include "transport/tcp/control.h"

#include "transport/tcp/deadline_for_tests.h"
#include "transport/tcp/tcp_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ControlTest : public testing::Test {
 protected:
  void SetUp() override {
    const int least = 1;  // of which the system makes a few KiB
    const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
    ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    FileDescriptor one = connect_to(Address::of(listener), in(seconds(5)));
    ::setsockopt(one.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
    FileDescriptor other;
    while (!other) other = accept_from(listener);
    speaker_ = std::make_unique<Control>(1, std::move(one));
    hearer_ = std::make_unique<Control>(0, std::move(other));
  }

  /// All bytes of what is told are alike, and tell which it is.
  void tell(int which) {
    std::array<std::byte, MessageTransport::kMostToldBytes> what;
    what.fill(static_cast<std::byte>(which % 256));
    speaker_->tell(what);
  }
  /// Far more than there is room for, and nobody reads.
  void tell_far_too_much() {
    for (int which = 0; which <= kLast; ++which) tell(which);
    ASSERT_TRUE(speaker_->has_more_to_say()) << "it all had room";
  }
  /// Both ends listen until that is so; false if it never is.
  template <class Condition>
  bool comes_true(const Condition& condition) {
    for (const Deadline end = in(seconds(20)); !condition() && std::chrono::steady_clock::now() < end;) {
      speaker_->listen();
      hearer_->listen();
      const auto told = hearer_->told();
      EXPECT_TRUE(std::all_of(told.begin(), told.end(), [&](std::byte one) { return one == told[0]; }))
          << "parts of two words";
      std::this_thread::sleep_for(milliseconds(1));
    }
    return condition();
  }
  static bool has_something(const Control& control, milliseconds patience) {
    pollfd polled{control.descriptor(), POLLIN, 0};
    return ::poll(&polled, 1, static_cast<int>(patience.count())) == 1;
  }

  /// A word as it goes over the wire, of whatever kind and code.
  void say_word(std::uint32_t kind, std::uint32_t code) {
    std::array<char, 1024> word{};
    std::memcpy(word.data(), &kind, sizeof kind);
    std::memcpy(word.data() + sizeof kind, &code, sizeof code);
    ASSERT_EQ(::send(speaker_->descriptor(), word.data(), word.size(), 0), static_cast<ssize_t>(word.size()));
  }

  static constexpr int kLast = 5000;
  static constexpr std::uint32_t kTold = 5;
  std::unique_ptr<Control> speaker_;
  std::unique_ptr<Control> hearer_;
};

}  // namespace

TEST_F(ControlTest, WhatNobodyReadsNeitherBlocksNorComesInParts) {
  tell_far_too_much();
  EXPECT_TRUE(comes_true([&] {
    const auto told = hearer_->told();
    return told.size() == MessageTransport::kMostToldBytes && told[0] == static_cast<std::byte>(kLast % 256) &&
           !speaker_->has_more_to_say();
  })) << "the last one counts";
  EXPECT_EQ(hearer_->state(), Control::State::kActive);
}

TEST_F(ControlTest, AFailureComesAfterMuchThatNobodyRead) {
  tell_far_too_much();
  const std::string why(900, 'w');
  speaker_->say_failed({ErrorCode::kTransport, why, {.peer = 7}});
  speaker_->say_left();
  ASSERT_TRUE(comes_true([&] { return hearer_->state() != Control::State::kActive; }));
  ASSERT_EQ(hearer_->state(), Control::State::kFailed);
  EXPECT_EQ(hearer_->failure().what(), why);
  EXPECT_EQ(hearer_->failure().peer(), 7);
}

TEST_F(ControlTest, WhoLeavesSaysSoAfterMuchThatNobodyRead) {
  tell_far_too_much();
  std::jthread leaver([&] {
    speaker_->say_left();
    speaker_->finish_saying(in(seconds(20)));
    pollfd socket{speaker_->descriptor(), POLLIN, 0};
    finish_sending(std::span(&socket, 1), in(seconds(20)));
    speaker_.reset();
  });
  const Deadline end = in(seconds(20));
  while (hearer_->state() == Control::State::kActive && std::chrono::steady_clock::now() < end) {
    if (has_something(*hearer_, milliseconds(10))) hearer_->listen();
  }
  EXPECT_EQ(hearer_->state(), Control::State::kLeft);
}

/// However much of the last word there was room for.
TEST_F(ControlTest, WhoHasNoMoreToSayHasSaidAll) {
  for (int words = 1;; ++words) {
    SetUp();
    for (int which = 1; which <= words; ++which) tell(which);
    if (speaker_->has_more_to_say()) break;
    ASSERT_EQ(::shutdown(speaker_->descriptor(), SHUT_WR), 0);
    ASSERT_TRUE(comes_true([&] { return hearer_->state() == Control::State::kGone; }));
    EXPECT_EQ(hearer_->told()[0], static_cast<std::byte>(words));
  }
}

TEST_F(ControlTest, LastWordsAreNotWaitedForLongerThanAsked) {
  tell_far_too_much();
  speaker_->finish_saying(in(milliseconds(10)));
  EXPECT_TRUE(speaker_->has_more_to_say()) << "nobody has read";
  hearer_.reset();
  speaker_->finish_saying(in(seconds(600)));
  EXPECT_FALSE(speaker_->has_more_to_say()) << "nobody is there for it";
}

TEST_F(ControlTest, AQuestionIsAnsweredByWhoWaits) {
  speaker_->ask();
  ASSERT_TRUE(has_something(*hearer_, seconds(20)));
  hearer_->listen();
  EXPECT_FALSE(has_something(*speaker_, milliseconds(30))) << "it listens, and does not wait";
  hearer_->answer();
  EXPECT_TRUE(comes_true([&] { return speaker_->says_it_waits(); }));
  hearer_->answer();
  EXPECT_FALSE(has_something(*speaker_, milliseconds(30))) << "once for each question";
  speaker_->ask();
  EXPECT_FALSE(speaker_->says_it_waits()) << "until it is answered anew";
}

TEST_F(ControlTest, NoMoreIsToldThanThereIsRoomFor) {
  say_word(kTold, MessageTransport::kMostToldBytes + 1);
  EXPECT_TRUE(comes_true([&] { return !hearer_->told().empty(); }));
  EXPECT_EQ(hearer_->told().size(), MessageTransport::kMostToldBytes);
}

TEST_F(ControlTest, WhatNoRankSaysIsRefused) {
  say_word(99, 0);
  ASSERT_TRUE(has_something(*hearer_, seconds(20)));
  EXPECT_THAT([&] { comes_true([] { return false; }); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("rank 0 said something of kind 99")));
}

}  // namespace lockstep::tcp
