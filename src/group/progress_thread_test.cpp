#include "group/progress_thread.h"

#include "base/child_for_tests.h"
#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::detail {
namespace {

constexpr std::chrono::seconds kLong{20};

/// Takes a byte a step from a socket, as long as one is asked for.
struct Worker {
  Worker() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) throw_system_error("socketpair");
    ours = FileDescriptor(ends[0]);
    theirs = FileDescriptor(ends[1]);
  }

  std::chrono::microseconds step(std::vector<pollfd>& sockets) {
    char byte = 0;
    if (::recv(ours.get(), &byte, 1, MSG_DONTWAIT) == 1) --wanted;
    if (wanted > 0) sockets.push_back({ours.get(), POLLIN, 0});
    stepped.release();
    return rest;
  }
  bool steps_once_more() { return stepped.try_acquire_for(kLong); }

  FileDescriptor ours;
  FileDescriptor theirs;
  std::atomic<int> wanted = 0;
  std::chrono::microseconds rest{0};
  std::counting_semaphore<> stepped{0};
};

void put(const Worker& worker) { ASSERT_EQ(::send(worker.theirs.get(), "x", 1, 0), 1); }

TEST(ProgressThread, StepsWhenItIsWokenAndWhenASocketItNamedIsReady) {
  Worker worker;
  ProgressThread thread([&](std::vector<pollfd>& sockets) { return worker.step(sockets); }, 1);
  ASSERT_TRUE(worker.steps_once_more());
  worker.wanted = 1;
  thread.wake();
  ASSERT_TRUE(worker.steps_once_more());
  put(worker);
  ASSERT_TRUE(worker.steps_once_more());
  EXPECT_EQ(worker.wanted, 0);
}

TEST(ProgressThread, AForkedChildDoesNotWaitForItsParents) {
  if (!testing_support::kForksBesideThreads) GTEST_SKIP() << testing_support::kWhyNotForked;
  Worker worker;
  auto thread = std::make_unique<ProgressThread>([&](std::vector<pollfd>& sockets) { return worker.step(sockets); }, 1);
  ASSERT_TRUE(worker.steps_once_more());
  EXPECT_EQ(testing_support::said_in_child([&] {
              // The system gives a thread of the child the number of one that only its parent has.
              std::vector<std::thread> own;
              for (int i = 0; i < 4; ++i) own.emplace_back([] {});
              thread.reset();
              for (std::thread& one : own) one.join();
              return "it is gone";
            }),
            "it is gone");
}

TEST(ProgressThread, SleepsWhileNothingIsUnderWay) {
  Worker worker;
  ProgressThread thread([&](std::vector<pollfd>& sockets) { return worker.step(sockets); }, 1);
  ASSERT_TRUE(worker.steps_once_more());
  put(worker);  // a socket that it did not name
  EXPECT_FALSE(worker.stepped.try_acquire_for(std::chrono::milliseconds(50)));
}

TEST(ProgressThread, RestsThoughASocketIsReady) {
  Worker worker;
  worker.wanted = 2;
  worker.rest = std::chrono::milliseconds(100);
  put(worker);
  put(worker);
  const auto begun = std::chrono::steady_clock::now();
  const ProgressThread thread([&](std::vector<pollfd>& sockets) { return worker.step(sockets); }, 1);
  ASSERT_TRUE(worker.steps_once_more());
  ASSERT_TRUE(worker.steps_once_more());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, worker.rest);
}

TEST(ProgressThread, EndsThoughNothingEverBecomesReady) {
  Worker worker;
  worker.wanted = 1;
  {
    const ProgressThread thread([&](std::vector<pollfd>& sockets) { return worker.step(sockets); }, 1);
    ASSERT_TRUE(worker.steps_once_more());
  }
  EXPECT_EQ(worker.wanted, 1);
}

TEST(ProgressThread, HasRoomForItsSocketsBeforeTheFirstStep) {
  constexpr std::size_t kMost = 100;
  std::promise<std::size_t> room;
  const ProgressThread thread(
      [&, told = false](std::vector<pollfd>& sockets) mutable {
        if (!std::exchange(told, true)) room.set_value(sockets.capacity() - sockets.size());
        return std::chrono::microseconds(0);
      },
      kMost);
  EXPECT_GE(room.get_future().get(), kMost);
}

TEST(ProgressThread, SaysWhatItLacks) {
  const auto make = [] {
    const ProgressThread thread([](std::vector<pollfd>&) { return std::chrono::microseconds(0); }, 0);
    return "made";
  };
  if (const auto said = testing_support::said_with_few_tasks(0, make)) {
    EXPECT_EQ(*said,
              "The background's thread could not be started: Resource temporarily unavailable. Let this user have more "
              "(ulimit -u), or ask for nothing in the background.");
  }
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT(make,
              testing_support::refuses(ErrorCode::kTransport,
                                       "Making what wakes the background's thread (eventfd) failed: Too many open"));
}

TEST(ProgressThread, TakesNoSignals) {
  std::promise<bool> blocked;
  sigset_t here;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &here);
  const ProgressThread thread(
      [&, told = false](std::vector<pollfd>&) mutable {
        sigset_t there;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &there);
        if (!std::exchange(told, true)) blocked.set_value(::sigismember(&there, SIGTERM) == 1);
        return std::chrono::microseconds(0);
      },
      0);
  EXPECT_TRUE(blocked.get_future().get());
  EXPECT_EQ(::sigismember(&here, SIGTERM), 0);
}

}  // namespace
}  // namespace lockstep::detail
