#include "train/bucket.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lockstep/world.h>
#include <torch/torch.h>

namespace lockstep {
namespace {

std::vector<ModuleTensor> parameters(int count, std::int64_t elements) {
  std::vector<ModuleTensor> result;
  for (int i = 0; i < count; ++i) result.push_back({fmt::format("p{}", i), torch::zeros({elements}), true, ""});
  return result;
}

TEST(Bucket, SlotsLieInTheFlatTensor) {
  const BucketLayout layout{.bytes = 192, .slots = {{1, 0}, {0, 128}}};
  const Bucket bucket(World::alone(), layout, parameters(2, 3), 4, true);
  bucket.slots()[0].fill_(1);
  bucket.slots()[1].fill_(2);
  const auto& flat = bucket.gradient().flat;
  EXPECT_EQ(flat.numel(), 48);
  EXPECT_EQ(flat.slice(0, 0, 3).sum().item<double>(), 3);
  EXPECT_EQ(flat.slice(0, 32, 35).sum().item<double>(), 6);
  EXPECT_EQ(flat.sum().item<double>(), 9);  // gaps are zero
  EXPECT_EQ(bucket.buffer().data, flat.data_ptr());
  EXPECT_EQ(bucket.buffer().count, 48u);
  EXPECT_EQ(bucket.gradient().index, 4);
  EXPECT_TRUE(bucket.gradient().last);
}

TEST(Bucket, SaysWhatItIsFor) {
  const auto five = parameters(5, 1);
  const BucketLayout two{.bytes = 128, .slots = {{0, 0}, {1, 64}}};
  EXPECT_EQ(Bucket(World::alone(), two, five, 0, true).purpose(), "gradients of p0, p1 (bucket 0)");
  const BucketLayout all{.bytes = 320, .slots = {{0, 0}, {1, 64}, {2, 128}, {3, 192}, {4, 256}}};
  EXPECT_EQ(Bucket(World::alone(), all, five, 2, true).purpose(), "gradients of p0, p1, p2 and 2 more (bucket 2)");
}

TEST(BucketSet, FindsAParametersPlace) {
  const std::vector<BucketLayout> layouts{{.bytes = 64, .slots = {{2, 0}}}, {.bytes = 128, .slots = {{1, 0}, {0, 64}}}};
  const BucketSet set(World::alone(), layouts, parameters(3, 2));
  EXPECT_EQ(set.layouts(), layouts);
  EXPECT_EQ(set.bucket_of(2), 0u);
  EXPECT_EQ(set.bucket_of(0), 1u);
  set.slot_of(0).fill_(5);
  EXPECT_EQ(set.buckets()[1].gradient().flat[16].item<float>(), 5);
  EXPECT_FALSE(set.buckets()[0].gradient().last);
  EXPECT_TRUE(set.buckets()[1].gradient().last);
}

}  // namespace
}  // namespace lockstep
