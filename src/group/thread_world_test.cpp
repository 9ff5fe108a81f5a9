#include "group/thread_world.h"

#include "base/child_for_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <chrono>
#include <mutex>
#include <string>

namespace lockstep::detail {

namespace {

/// What comes of a barrier of four ranks of whom two can be started; what they themselves are told stands first.
std::string said_of_half_a_world(Medium medium) {
  std::mutex mutex;
  std::string said;
  try {
    run_threads_uncalibrated(4, medium, [&](World& world) {
      try {
        world.barrier({.timeout = std::chrono::seconds(20)}).wait();
      } catch (const Error& error) {
        const std::lock_guard lock(mutex);
        said += fmt::format("{} ", error.code() == ErrorCode::kPeerLeft ? "left" : error.what());
        throw;
      }
    });
  } catch (const Error& error) {
    return said + (error.code() == ErrorCode::kTransport ? "and " : "but ") + error.what();
  }
  return "nothing";
}

}  // namespace

TEST(ThreadWorld, WhereAThreadCannotBeStartedTheOthersAreToldAtOnce) {
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const auto said = testing_support::said_with_few_tasks(2, [&] { return said_of_half_a_world(medium); });
    if (!said) GTEST_SKIP() << testing_support::kWhyTasksNotDenied;
    EXPECT_EQ(*said,
              "left left and Thread 3 of 4 could not be started: Resource temporarily unavailable. Ask for fewer, or "
              "let this user have more (ulimit -u).");
  }
}

}  // namespace lockstep::detail
