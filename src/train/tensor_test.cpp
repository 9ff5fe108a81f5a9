#include "train/tensor.h"

#include <gtest/gtest.h>
#include <lockstep/world.h>
#include <torch/torch.h>

namespace lockstep {
namespace {

TEST(Tensor, TypesOfCollectivesHaveTheSameSizeInTorch) {
  for (const auto type : {torch::kFloat32, torch::kFloat64, torch::kBFloat16, torch::kFloat16, torch::kInt32,
                          torch::kInt64, torch::kUInt8}) {
    ASSERT_TRUE(data_type_of(type).has_value());
    EXPECT_EQ(size_of(*data_type_of(type)), torch::elementSize(type));
  }
  EXPECT_FALSE(data_type_of(torch::kComplexFloat).has_value());
  EXPECT_FALSE(data_type_of(torch::kBool).has_value());
}

TEST(Tensor, LiesOverTheMemoryAndKeepsIt) {
  auto memory = World::alone().allocate(256);
  auto* data = static_cast<float*>(memory.data());
  const auto flat = tensor_over(memory, torch::kFloat32);
  auto part = tensor_like(torch::zeros({2, 3}), memory, 64);
  std::weak_ptr<void> owner = memory.owner();
  memory = RegisteredMemory();

  part.fill_(7);
  EXPECT_EQ(flat.numel(), 64);
  EXPECT_EQ(data[15], 0);
  EXPECT_EQ(data[16], 7);
  EXPECT_EQ(flat[21].item<float>(), 7);
  EXPECT_EQ(flat[22].item<float>(), 0);
  EXPECT_FALSE(part.is_view());
  EXPECT_NO_THROW(part.detach_());
  part = torch::Tensor();
  EXPECT_FALSE(owner.expired());
}

TEST(Tensor, TakesTheStridesOfWhatIsDense) {
  const auto memory = World::alone().allocate(1024);
  const auto channels_last = torch::zeros({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast);
  EXPECT_EQ(tensor_like(channels_last, memory, 0).strides(), channels_last.strides());
  const auto expanded = torch::zeros({3, 1}).expand({3, 4});  // four columns share their memory
  EXPECT_TRUE(tensor_like(expanded, memory, 0).is_contiguous());
}

}  // namespace
}  // namespace lockstep
