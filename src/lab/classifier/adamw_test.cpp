#include "lab/classifier/adamw.h"

#include <gtest/gtest.h>
#include <lockstep/world.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

namespace lockstep::lab {

class AdamwAt : public testing::TestWithParam<int> {};

TEST_P(AdamwAt, DecaysMatricesAndSparesVectors) {
  run_threads(2, [](World& world) {
    Sharded sharded(world, {.stage = GetParam()});
    auto block = sharded.wrap(torch::nn::Linear(3, 2));
    sharded.attach(*block);
    std::vector<torch::Tensor> before;
    {
      const auto whole = sharded.gather();
      for (const auto& parameter : block->parameters()) before.push_back(parameter.detach().clone());
    }
    const auto optimizer = make_adamw(sharded, 100);  // at a learning rate of 1e-3 a tenth a step
    optimizer->zero_grad();
    (block->forward(torch::zeros({1, 3})).sum() * 0).backward();
    sharded.step(*optimizer);
    const auto whole = sharded.gather();
    EXPECT_TRUE(torch::allclose(block->named_parameters()["weight"], before[0] * 0.9));
    EXPECT_TRUE(torch::equal(block->named_parameters()["bias"], before[1]));
  });
}

INSTANTIATE_TEST_SUITE_P(Stages, AdamwAt, testing::Values(0, 1, 2, 3), testing::PrintToStringParamName());

}  // namespace lockstep::lab
