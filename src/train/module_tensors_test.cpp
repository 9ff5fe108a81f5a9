#include "train/module_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(ModuleTensors, ListsParametersThenBuffersAndSaysWhatTheyAre) {
  struct Inner : torch::nn::Module {
    Inner() {
      register_buffer("mean", torch::zeros({4}, torch::kFloat64));
      register_parameter("weight", torch::zeros({2, 3}));
    }
  };
  torch::nn::Module module;
  module.register_module("inner", std::make_shared<Inner>());
  const auto scale = module.register_parameter("scale", torch::zeros({}), /*requires_grad=*/false);
  module.register_parameter("again", scale, false);

  std::vector<std::string> seen;
  for (const auto& tensor : tensors_of(module)) seen.push_back(tensor.name + ": " + tensor.description());
  EXPECT_THAT(seen, ElementsAre("scale: fixed Float []", "again: tied to 'scale'",
                                "inner.weight: trainable Float [2, 3]", "inner.mean: fixed Double [4]"));
}

TEST(ModuleTensors, SkipsWhatIsUndefined) {
  EXPECT_EQ(tensors_of(*torch::nn::Linear(torch::nn::LinearOptions(2, 2).bias(false))).size(), 1u);
}

}  // namespace
}  // namespace lockstep
