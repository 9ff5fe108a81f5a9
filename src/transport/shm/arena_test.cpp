#include "transport/shm/arena.h"

#include "base/child_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace lockstep::shm {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(Arena, MemoryIsZeroAlignedAndApart) {
  const auto arena = Arena::create(8 * kMiB);
  const auto first = arena->allocate(kMiB);
  const auto second = arena->allocate(1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.get()) % 64, 0U);
  EXPECT_EQ(*static_cast<char*>(second.get()), 0);
  std::memset(first.get(), 7, kMiB);
  EXPECT_EQ(*static_cast<char*>(second.get()), 0);
}

TEST(Arena, FreedMemoryIsJoinedAndComesBackZeroed) {
  const auto arena = Arena::create(4 * kMiB);
  std::vector<std::shared_ptr<void>> pieces;
  for (int i = 0; i < 4; ++i) {
    pieces.push_back(arena->allocate(kMiB));
    std::memset(pieces.back().get(), 7, kMiB);
  }
  EXPECT_THROW(arena->allocate(1), Error);
  // Freed out of order: only joined neighbours can hold the whole again.
  for (const std::size_t i : {1U, 3U, 0U, 2U}) pieces[i].reset();
  const auto whole = arena->allocate(4 * kMiB);
  const auto* bytes = static_cast<const char*>(whole.get());
  for (std::size_t i = 0; i < 4 * kMiB; i += 1000) ASSERT_EQ(bytes[i], 0) << i;
}

TEST(Arena, TooMuchIsAnErrorNotACrash) {
  const auto arena = Arena::create(kMiB);
  for (const std::size_t bytes : {2 * kMiB, std::numeric_limits<std::size_t>::max()}) {
    try {
      arena->allocate(bytes);
      FAIL() << "handed out " << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
      EXPECT_EQ(error.what(),
                std::to_string(bytes) + " bytes of registered memory were asked for, more than this machine has left.");
    }
  }
}

TEST(Arena, KnowsItsOwnMemory) {
  const auto arena = Arena::create(4 * kMiB);
  arena->allocate(kMiB);
  const auto held = arena->allocate(kMiB);
  auto* bytes = static_cast<std::byte*>(held.get());
  const auto offset = arena->offset_of(bytes + 100, 50);
  ASSERT_TRUE(offset);
  EXPECT_EQ(arena->mapping().data() + *offset, bytes + 100);
  std::vector<std::byte> plain(100);
  EXPECT_FALSE(arena->offset_of(plain.data(), plain.size()));
  EXPECT_FALSE(arena->offset_of(bytes, 8 * kMiB));
}

TEST(Arena, OutlivesItsHandleWhileMemoryIsHeld) {
  auto arena = Arena::create(kMiB);
  const auto held = arena->allocate(100);
  arena.reset();
  std::memset(held.get(), 1, 100);
  EXPECT_EQ(static_cast<char*>(held.get())[99], 1);
}

TEST(Arena, AForkedChildGivesNothingBackOfItsParents) {
  const auto arena = Arena::create(kMiB);
  auto held = arena->allocate(kMiB);
  std::memset(held.get(), 7, kMiB);
  const auto said = testing_support::said_in_child([&] {
    held.reset();
    return std::string("gone there");
  });
  ASSERT_EQ(said, "gone there");
  EXPECT_EQ(static_cast<char*>(held.get())[100], 7);
}

TEST(Arena, WhatIsAllocatedForGoodStays) {
  const auto arena = Arena::create(16 * 4096);
  std::byte* kept = arena->allocate_for_good(4096, 4096);
  EXPECT_EQ(arena->offset_of(kept, 4096), 0U);
  const auto other = arena->allocate(4096);
  EXPECT_NE(other.get(), kept);
  EXPECT_THROW(arena->allocate_for_good(16 * 4096, 0), Error);
}

TEST(Arena, ARanksFirstMemoryIsPresentAsFarAsAskedForWherePeersLookForIt) {
  for (const int rank : {0, 3, 7}) {
    const auto arena = Arena::create(64 * kMiB, rank);
    const std::byte* const kept = arena->allocate_for_good(9 * kMiB, 4 * kMiB);
    EXPECT_EQ(arena->offset_of(kept, 9 * kMiB), first_place(rank));
    std::array<unsigned char, 2304> present{};
    ASSERT_EQ(::mincore(const_cast<std::byte*>(kept), 9 * kMiB, present.data()), 0);
    EXPECT_EQ(std::count(present.begin(), present.begin() + 1024, 1), 1024) << "pages of rank " << rank;
    // The system may make a huge page of where the one ends and the other begins.
    EXPECT_EQ(std::count(present.begin() + 1536, present.end(), 1), 0) << "pages of rank " << rank;
  }
}

TEST(Arena, TakesAddressSpaceForManyRanksOfALargeMachine) {
  constexpr std::size_t kGiB = std::size_t{1} << 30U;
  EXPECT_EQ(Arena::default_bytes(8, 512 * kGiB), 512 * kGiB) << "all of a small one's memory";
  EXPECT_EQ(Arena::default_bytes(96, 2048 * kGiB), 4096 * kGiB / 96 / 4096 * 4096);
  EXPECT_EQ(Arena::default_bytes(std::numeric_limits<int>::max(), kGiB), 4096U) << "it is their join that is refused";
  for (const std::size_t memory : {kGiB, 100 * kGiB, 6000 * kGiB, 24'000 * kGiB}) {
    for (const int ranks : {1, 2, 64, 1024}) {
      const std::size_t bytes = Arena::default_bytes(ranks, memory);
      EXPECT_GE(bytes + 4096, std::min(memory, 2 * memory / static_cast<std::size_t>(ranks)));
      EXPECT_LE(bytes * static_cast<std::size_t>(ranks), 48'000 * kGiB);
    }
  }
}

}  // namespace lockstep::shm
