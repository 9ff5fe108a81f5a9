#include "train/invariant/micro_batch_generator.h"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include <vector>

namespace lockstep {
namespace {

torch::Tensor drawn(std::uint64_t seed, std::int64_t iteration, std::int64_t micro_batch) {
  const MicroBatchGenerator generator;
  generator.seed(seed, iteration, micro_batch);
  return torch::rand({8});
}

TEST(MicroBatchGenerator, DrawsTheSameForTheSamePlaceOnly) {
  EXPECT_TRUE(torch::equal(drawn(1, 2, 3), drawn(1, 2, 3)));
  EXPECT_FALSE(torch::equal(drawn(1, 2, 3), drawn(1, 2, 4)));
  EXPECT_FALSE(torch::equal(drawn(1, 2, 3), drawn(1, 3, 3)));
  EXPECT_FALSE(torch::equal(drawn(1, 2, 3), drawn(2, 2, 3)));
  EXPECT_FALSE(torch::equal(drawn(1, 2, 3), drawn(1 + (std::uint64_t{1} << 32), 2, 3)));
}

TEST(MicroBatchGenerator, LeavesTheUsersNumbersAlone) {
  torch::manual_seed(5);
  const auto expected = torch::rand({4});
  torch::manual_seed(5);
  drawn(1, 2, 3);
  EXPECT_TRUE(torch::equal(torch::rand({4}), expected));
}

}  // namespace
}  // namespace lockstep
