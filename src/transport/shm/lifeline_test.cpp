#include "transport/shm/lifeline.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace lockstep::shm {

namespace {

pid_t fork_one_that_waits() {
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  return child;
}

}  // namespace

TEST(Lifeline, ShowsWhichOwnersAreGone) {
  Lifeline first = Lifeline::create();
  Lifeline second = Lifeline::create();
  std::vector<FileDescriptor> watched;
  watched.push_back(std::move(first.watch_end));
  watched.emplace_back();  // nobody: our own place in the list
  watched.push_back(std::move(second.watch_end));
  EXPECT_THAT(hung_up(watched), testing::IsEmpty());
  second.owner_end.reset();
  EXPECT_THAT(hung_up(watched), testing::ElementsAre(2));
}

TEST(Lifeline, WhoHasNoDescriptorLeftIsTold) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT([] { Lifeline::create(); },
              testing_support::refuses(ErrorCode::kTransport, "Making a lifeline (pipe2) failed: Too many open files"));
}

TEST(Lifeline, OfManyOwnersEachIsLookedAt) {
  std::vector<Lifeline> lines;
  std::vector<FileDescriptor> watched;
  for (int i = 0; i < 150; ++i) {
    lines.push_back(Lifeline::create());
    watched.push_back(std::move(lines.back().watch_end));
  }
  for (const std::size_t gone : {3, 64, 149}) lines[gone].owner_end.reset();
  EXPECT_THAT(hung_up(watched), testing::ElementsAre(3, 64, 149));
}

TEST(Lifeline, AKilledProcessHangsUp) {
  Lifeline line = Lifeline::create();
  FileDescriptor inherited(::dup(line.owner_end.get()));
  const pid_t child = fork_one_that_waits();
  ASSERT_GE(child, 0);
  line.owner_end.reset();
  inherited.reset();  // the child alone holds it now
  std::vector<FileDescriptor> watched;
  watched.push_back(std::move(line.watch_end));
  EXPECT_THAT(hung_up(watched), testing::IsEmpty());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(hung_up(watched), testing::ElementsAre(0));
}

TEST(Lifeline, AChildOfItsOwnerDoesNotHoldIt) {
  Lifeline line = Lifeline::create();
  std::vector<FileDescriptor> watched;
  watched.push_back(std::move(line.watch_end));
  const pid_t child = fork_one_that_waits();
  ASSERT_GE(child, 0);
  EXPECT_THAT(hung_up(watched), testing::IsEmpty());
  line.owner_end.reset();
  constexpr int kLong = 20'000;  // milliseconds, in which the child comes out of fork
  for (int waited = 0; waited < kLong && hung_up(watched).empty(); ++waited) ::usleep(1000);
  EXPECT_THAT(hung_up(watched), testing::ElementsAre(0));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace lockstep::shm
