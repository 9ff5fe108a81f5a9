#include "transport/mpi/streams.h"

#include "transport/mpi/calls_for_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace lockstep::mpi {

namespace {

/// What MPI was asked for.
struct Asked {
  std::vector<std::span<std::byte>> given;  ///< memory, by all tests: it is MPI's for ever
  int given_up = 0;
};
Asked& asked() {
  static auto* const kAsked = new Asked;
  return *kAsked;
}

/// Nothing that is begun with it is ever complete, and asking for it is an error; so its memory stays MPI's.
Calls calls_that_keep_memory() {
  asked().given_up = 0;
  Calls calls = calls_that_bring_nothing();
  calls.send = [](Request*, const Outgoing* message) -> const char* {
    asked().given.push_back({static_cast<std::byte*>(const_cast<void*>(message->data)), message->bytes});
    return nullptr;
  };
  calls.receive = [](Request*, void* data, std::size_t bytes, int, int) -> const char* {
    asked().given.push_back({static_cast<std::byte*>(data), bytes});
    return nullptr;
  };
  calls.test = [](Request*, int*, std::size_t*, int*) -> const char* { return "MPI says: it is gone"; };
  const auto give_up = [](Request*) {
    ++asked().given_up;
    return 0;
  };
  calls.cancel_receive = give_up;
  calls.forget_send = give_up;
  return calls;
}

/// None was freed and given out again, and MPI may still write to it.
void expect_kept() {
  std::vector<const std::byte*> places;
  for (const std::span<std::byte> memory : asked().given) places.push_back(memory.data());
  std::ranges::sort(places);
  ASSERT_EQ(std::ranges::adjacent_find(places), places.end());
  for (const std::span<std::byte> memory : asked().given) std::ranges::fill(memory, std::byte{1});
}

}  // namespace

TEST(MpiStreams, WhatCannotBeGivenUpKeepsItsMemory) {
  const Calls calls = calls_that_keep_memory();
  const Process process(calls, std::chrono::milliseconds(10));
  for (int lane = 1; lane <= 3; ++lane) {
    EXPECT_THROW((void)Lane(process, 1, 5).has_bytes(), Error);
    EXPECT_EQ(asked().given_up, 2 * lane);
  }
  expect_kept();
}

/// Whatever MPI says by then.
TEST(MpiStreams, WhatIsBeingSentIsForgotten) {
  const Calls calls = calls_that_keep_memory();
  const Process process(calls, std::chrono::milliseconds(10));
  std::array<char, 100> text{};
  const iovec span{text.data(), text.size()};
  for (int lane = 1; lane <= 3; ++lane) {
    EXPECT_EQ(Lane(process, 1, 5).send({&span, 1}), 0U);
    EXPECT_EQ(asked().given_up, lane);
  }
  expect_kept();
}

TEST(MpiStreams, AWordThatMayStillComeKeepsItsMemory) {
  const Calls calls = calls_that_keep_memory();
  const Process process(calls, std::chrono::milliseconds(10));
  for (int times = 0; times < 3; ++times) const Control control(process, 1, 1, 5);
  EXPECT_EQ(asked().given_up, 3);
  expect_kept();
}

}  // namespace lockstep::mpi
