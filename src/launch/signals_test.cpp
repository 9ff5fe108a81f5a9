#include "launch/signals.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Signals, ArriveOnTheDescriptorInsteadOfEndingUs) {
  Signals signals;
  EXPECT_THAT(signals.take(), IsEmpty());
  ::raise(SIGTERM);
  EXPECT_THAT(signals.take(), ElementsAre(SIGTERM));
  EXPECT_THAT(signals.take(), IsEmpty());
}

TEST(Signals, WhatWasIgnoredStaysIgnored) {
  ::signal(SIGHUP, SIG_IGN);
  {
    Signals signals;
    ::raise(SIGHUP);
    EXPECT_THAT(signals.take(), IsEmpty());
  }
  ::signal(SIGHUP, SIG_DFL);
}

TEST(Signals, TheMaskIsAsBeforeWhenTheyAreGone) {
  sigset_t mask;
  { const Signals signals; }
  ::sigprocmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(::sigismember(&mask, SIGTERM), 0);
}

TEST(Signals, WhoHasNoDescriptorLeftIsTold) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT(
      [] { const Signals signals; },
      testing_support::refuses(ErrorCode::kTransport, "Making a descriptor for signals failed: Too many open files"));
}

TEST(Signals, HaveNames) {
  EXPECT_EQ(describe_signal(SIGSEGV), "SIGSEGV (Segmentation fault)");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "signal " + std::to_string(SIGRTMIN + 3));
}

}  // namespace lockstep
