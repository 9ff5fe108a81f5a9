#include "lab/classifier/memory.h"

#include "lab/classifier/adamw.h"

#include <gtest/gtest.h>
#include <lockstep/world.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

namespace lockstep::lab {

class MemoryAt : public testing::TestWithParam<int> {};

TEST_P(MemoryAt, IsThatOfTheFormulaWhereAllIsInBlocks) {
  run_threads(2, [](World& world) {
    Sharded sharded(world, {.stage = GetParam()});
    auto block = sharded.wrap(torch::nn::Linear(torch::nn::LinearOptions(8, 16).bias(false)));
    sharded.attach(*block);
    const auto optimizer = make_adamw(sharded, 0.1);
    optimizer->zero_grad();
    block->forward(torch::ones({1, 8})).sum().backward();
    sharded.step(*optimizer);
    const auto memory = memory_of(sharded, *optimizer, world.size());
    const int stage = GetParam();
    const std::uint64_t whole = 8 * 16 * 4, half = whole / 2;
    ASSERT_EQ(memory.size(), stage >= 2 ? 4U : 3U);
    EXPECT_EQ(memory[0].predicted_bytes, stage >= 3 ? half : whole) << memory[0].kind;
    EXPECT_EQ(memory[1].predicted_bytes, stage >= 2 ? half : whole) << memory[1].kind;
    EXPECT_EQ(memory[2].predicted_bytes, 2 * (stage >= 1 ? half : whole)) << memory[2].kind;
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(memory[i].measured_bytes, memory[i].predicted_bytes) << memory[i].kind;
    if (stage < 2) return;
    EXPECT_EQ(memory[3].kind, "communication buffers");
    EXPECT_EQ(memory[3].measured_bytes, stage == 3 ? 2 * whole : whole) << "the gradient, and the block's values";
    EXPECT_EQ(memory[3].predicted_bytes, 0U);
  });
}

INSTANTIATE_TEST_SUITE_P(Stages, MemoryAt, testing::Values(0, 1, 2, 3), testing::PrintToStringParamName());

}  // namespace lockstep::lab
