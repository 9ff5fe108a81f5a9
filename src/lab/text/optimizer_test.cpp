#include "lab/text/optimizer.h"

#include "lab/text/tiny_gpt_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/optim.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace lockstep::lab {

namespace {}  // namespace

TEST(Optimizer, DecaysMatricesOnly) {
  Gpt model(kTinyGpt, 1);
  auto optimizer = make_optimizer(*model, 0.5);
  set_learning_rate(optimizer, 0.1);
  std::vector<torch::Tensor> before;
  for (const auto& parameter : model->parameters()) {
    before.push_back(parameter.detach().clone());
    parameter.mutable_grad() = torch::zeros_like(parameter);
  }
  optimizer.step();
  const auto after = model->parameters();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double factor = after[i].dim() >= 2 ? 1 - 0.1 * 0.5 : 1;
    EXPECT_TRUE(torch::allclose(after[i], before[i] * factor)) << "parameter " << i;
  }
}

TEST(Optimizer, TheLearningRateReachesEveryGroup) {
  Gpt model(kTinyGpt, 1);
  auto optimizer = make_optimizer(*model, 0.1);
  ASSERT_EQ(optimizer.param_groups().size(), 2U);
  set_learning_rate(optimizer, 0.25);
  for (auto& group : optimizer.param_groups()) {
    EXPECT_EQ(group.options().get_lr(), 0.25);
    const auto& options = static_cast<const torch::optim::AdamWOptions&>(group.options());
    EXPECT_EQ(options.betas(), std::make_tuple(0.9, 0.99));
  }
}

}  // namespace lockstep::lab
