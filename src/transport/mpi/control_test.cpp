#include "transport/mpi/control.h"

#include "base/error_for_tests.h"
#include "transport/mpi/calls_for_tests.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

namespace lockstep::mpi {

namespace {

/// The word that comes next, into the memory that was given for it.
struct NextWord {
  static constexpr std::uint32_t kFailed = 2;
  static constexpr std::uint32_t kTold = 5;
  std::uint32_t kind = kFailed;
  std::uint32_t code = 0;
  std::int64_t about = -1;
  bool comes = true;
  void* into = nullptr;
};
NextWord& next_word() {
  static NextWord word;
  return word;
}

/// An MPI that brings it, once, to who receives.
Calls calls_that_bring_a_word() {
  Calls calls = calls_that_bring_nothing();
  calls.receive = [](Request*, void* data, std::size_t, int, int) -> const char* {
    next_word().into = data;
    return nullptr;
  };
  calls.test = [](Request*, int* complete, std::size_t*, int*) -> const char* {
    NextWord& word = next_word();
    *complete = word.comes ? 1 : 0;
    if (!word.comes) return nullptr;
    auto* const into = static_cast<std::byte*>(word.into);
    std::memcpy(into, &word.kind, sizeof word.kind);
    std::memcpy(into + 4, &word.code, sizeof word.code);
    std::memcpy(into + 8, &word.about, sizeof word.about);
    word.comes = false;
    return nullptr;
  };
  return calls;
}

}  // namespace

TEST(MpiControl, AFailureThatNamesNobodyIsThePeersAndItsCodeIsOneThatThereIs) {
  const Calls calls = calls_that_bring_a_word();
  const Process process(calls, std::chrono::milliseconds(10));
  next_word() = {.code = 1'000'000};
  Control control(process, 3, 1, 5);
  control.listen();
  ASSERT_EQ(control.state(), Control::State::kFailed);
  EXPECT_EQ(control.failure().peer(), 3) << "its rank in the group, not in the world";
  EXPECT_EQ(control.failure().code(), ErrorCode::kTransport);
}

TEST(MpiControl, NoMoreIsToldThanThereIsRoomFor) {
  const Calls calls = calls_that_bring_a_word();
  const Process process(calls, std::chrono::milliseconds(10));
  next_word() = {.kind = NextWord::kTold, .code = MessageTransport::kMostToldBytes + 1};
  Control control(process, 3, 1, 5);
  control.listen();
  EXPECT_EQ(control.told().size(), MessageTransport::kMostToldBytes);
}

TEST(MpiControl, WhatNoRankSaysIsRefused) {
  const Calls calls = calls_that_bring_a_word();
  const Process process(calls, std::chrono::milliseconds(10));
  for (const std::uint32_t kind : {0U, 99U}) {
    next_word() = {.kind = kind};
    Control control(process, 3, 1, 5);
    EXPECT_THAT(
        [&] { control.listen(); },
        testing_support::refuses(ErrorCode::kTransport, "rank 3 said something of kind " + std::to_string(kind)));
    EXPECT_NO_THROW(control.listen()) << "it is read once";
  }
}

}  // namespace lockstep::mpi
