#include "runtime/partition.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Partition, ChunksCoverTheBufferInOrder) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U, 4099U}) {
    for (int chunks = 1; chunks <= 17; ++chunks) {
      const Partition partition(Collective::kAllReduce, DataType::kFloat32, count, chunks);
      EXPECT_EQ(partition.begin(0), 0U);
      EXPECT_EQ(partition.begin(chunks), count);
      for (int chunk = 0; chunk < chunks; ++chunk) {
        ASSERT_LE(partition.begin(chunk), partition.begin(chunk + 1));
        // Inner cuts fall on cache lines: 16 floats.
        if (partition.begin(chunk) < count) {
          ASSERT_EQ(partition.begin(chunk) % 16, 0U);
        }
      }
    }
  }
}

TEST(Partition, BlocksOfRanksAreExact) {
  const Partition partition(Collective::kReduceScatter, DataType::kFloat32, 21, 7);
  for (int chunk = 0; chunk < 7; ++chunk) {
    EXPECT_EQ(partition.begin(chunk), static_cast<std::size_t>(3 * chunk));
    EXPECT_EQ(partition.size(chunk), 3U);
  }
}

}  // namespace lockstep
