#include "train/module_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

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

std::vector<std::string> described(const std::vector<ModuleTensor>& tensors) {
  std::vector<std::string> seen;
  for (const auto& tensor : tensors) seen.push_back(tensor.name + ": " + tensor.description());
  return seen;
}

TEST(ModuleTensors, ListsWhatATorchScriptModuleHas) {
  torch::jit::Module inner("Inner");
  inner.register_buffer("mean", torch::zeros({4}));
  inner.register_parameter("weight", torch::zeros({2}, torch::requires_grad()), false);
  torch::jit::Module module("Outer");
  module.register_module("inner", inner);
  module.register_parameter("scale", torch::zeros({}), false);
  EXPECT_THAT(described(tensors_of(module)),
              UnorderedElementsAre("scale: fixed Float []", "inner.weight: trainable Float [2]",
                                   "inner.mean: fixed Float [4]"));
}

TEST(ModuleTensors, ListsNamedTensorsAndRefusesWhatIsNoLeaf) {
  const auto weight = torch::zeros({2}, torch::requires_grad());
  EXPECT_THAT(described(tensors_of(NamedTensors{{"a", weight}, {"b", weight}, {"c", torch::zeros({1})}})),
              ElementsAre("a: trainable Float [2]", "b: tied to 'a'", "c: fixed Float [1]"));
  EXPECT_THAT(
      [&] {
        tensors_of(NamedTensors{{"a", weight}, {"sum", weight + 1}});
      },
      ThrowsMessage<Error>(HasSubstr("'sum', which was computed from other tensors")));
  EXPECT_THAT(
      [&] {
        tensors_of(NamedTensors{{"nothing", torch::Tensor()}});
      },
      ThrowsMessage<Error>(HasSubstr("'nothing', which is no tensor")));
}

}  // namespace
}  // namespace lockstep
