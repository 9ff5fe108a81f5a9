#include "kernels/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace lockstep::kernels {

TEST(Copy, WritesTheBytesAskedForAndNoOthers) {
  std::vector<std::uint8_t> source(5000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 7 + 1);
  for (const bool streaming : {false, true}) {
    for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 300U, 4099U}) {
      for (const std::size_t begin : {0U, 1U, 17U, 64U}) {
        std::vector<std::uint8_t> target(5000, 0);
        std::vector<std::uint8_t> expected = target;
        copy(target.data() + begin, source.data() + 3, bytes, streaming);
        for (std::size_t i = 0; i < bytes; ++i) expected[begin + i] = source[3 + i];
        ASSERT_EQ(target, expected) << bytes << " bytes to " << begin << (streaming ? " streaming" : "");
      }
    }
  }
}

TEST(Copy, OfSeveralPartsIsWhole) {
  constexpr std::size_t kPart = std::size_t{256} << 10;
  for (const std::size_t bytes : {kPart - 1, kPart, kPart + 1, 3 * kPart, 5 * kPart + 77}) {
    std::vector<std::uint8_t> source(bytes);
    for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<std::uint8_t>((i * 2654435761U) >> 24U);
    std::vector<std::uint8_t> target(bytes + 1, 0);
    copy(target.data(), source.data(), bytes, false);
    ASSERT_TRUE(std::equal(source.begin(), source.end(), target.begin())) << bytes;
    EXPECT_EQ(target.back(), 0) << bytes;
  }
}

TEST(Copy, IsRightWhereTheTargetBeginsJustBehindTheSourceWithinAPage) {
  constexpr std::size_t kPage = 4096;
  alignas(64) static std::array<std::uint8_t, 4 * kPage> memory;
  for (const std::size_t behind : {0U, 1U, 8U, 15U, 16U}) {
    for (const std::size_t bytes : {2047U, 2048U, 3001U, 4000U}) {
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 5 + 3);
      auto expected = memory;
      std::copy_n(memory.begin(), bytes, expected.begin() + 2 * kPage + behind);
      copy(memory.data() + 2 * kPage + behind, memory.data(), bytes, false);
      ASSERT_EQ(memory, expected) << bytes << " bytes, " << behind << " behind";
    }
  }
}

}  // namespace lockstep::kernels
