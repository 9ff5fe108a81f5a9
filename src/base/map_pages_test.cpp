#include "base/map_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace lockstep {

TEST(MapPages, AreWholeAndZero) {
  const auto memory = map_pages(5000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 4096, 0U);
  auto* const bytes = static_cast<unsigned char*>(memory.get());
  EXPECT_EQ(std::count(bytes, bytes + 8192, 0), 8192);
  std::fill(bytes, bytes + 8192, 1);
}

TEST(MapPages, NoBytesArePagesToo) { EXPECT_NE(map_pages(0), nullptr); }

TEST(MapPages, GoBackWithTheirLastOwner) {
  auto memory = map_pages(4096);
  void* const place = memory.get();
  unsigned char is_there = 0;
  ASSERT_EQ(::mincore(place, 4096, &is_there), 0);
  memory.reset();
  EXPECT_EQ(::mincore(place, 4096, &is_there), -1);
  EXPECT_EQ(errno, ENOMEM) << "nothing is mapped there";
}

TEST(MapPages, WhereThereIsNoMemoryThereAreNone) {
  EXPECT_EQ(map_pages(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

}  // namespace lockstep
