#include "kernels/copy.h"

#include <gtest/gtest.h>

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

}  // namespace lockstep::kernels
