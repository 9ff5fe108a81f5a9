#include "train/gradient_hook.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <torch/torch.h>

#include <memory>

namespace lockstep {
namespace {

torch::Tensor as_is(const torch::Tensor&) { return {}; }

TEST(GradientHook, ChangesWhatIsAddedAndCallsOnceAfterwards) {
  const auto leaf = torch::zeros({2}, torch::requires_grad());
  int calls = 0;
  const GradientHook hook(
      leaf, [](const torch::Tensor& gradient) { return gradient * 10; },
      [&] {
        ++calls;
        EXPECT_EQ(leaf.grad()[0].item<double>(), 50);
      });
  (leaf.sum() * 2 + leaf.sum() * 3).backward();
  EXPECT_EQ(calls, 1);
}

TEST(GradientHook, LivesWithoutTheGraphThatMadeTheAccumulator) {
  const auto leaf = torch::zeros({2}, torch::requires_grad());
  int calls = 0;
  const GradientHook hook(leaf, as_is, [&] { ++calls; });
  for (int i = 0; i < 3; ++i) leaf.sum().backward();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(leaf.grad()[0].item<double>(), 3);
}

TEST(GradientHook, GoesWithItsObject) {
  const auto leaf = torch::zeros({2}, torch::requires_grad());
  int calls = 0;
  {
    const GradientHook gone(
        leaf, [](const torch::Tensor& gradient) { return gradient * 10; }, [&] { ++calls; });
  }
  leaf.sum().backward();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(leaf.grad()[0].item<double>(), 1);
}

TEST(GradientHook, SeesTheLeafAfterItsTypeChanged) {
  auto leaf = torch::zeros({2}, torch::requires_grad());
  torch::ScalarType seen = torch::kFloat32;
  const GradientHook hook(
      leaf,
      [&](const torch::Tensor& gradient) {
        seen = gradient.scalar_type();
        return torch::Tensor();
      },
      [] {});
  leaf.set_data(leaf.to(torch::kFloat64));
  leaf.sum().backward();
  EXPECT_EQ(seen, torch::kFloat64);
}

TEST(GradientHook, ErrorsKeepTheirType) {
  const auto leaf = torch::zeros({2}, torch::requires_grad());
  const auto fail = [] { throw Error(ErrorCode::kPeerDied, "gone"); };
  {
    const GradientHook hook(leaf, as_is, fail);
    EXPECT_THROW(leaf.sum().backward(), Error);
  }
  const GradientHook hook(leaf, as_is, [&] { at_end_of_backward(fail); });
  EXPECT_THROW(leaf.sum().backward(), Error);
}

TEST(AtEndOfBackward, RunsBeforeBackwardReturns) {
  const auto leaf = torch::zeros({2}, torch::requires_grad());
  bool done = false;
  const GradientHook hook(leaf, as_is, [&] { at_end_of_backward([&] { done = true; }); });
  leaf.sum().backward();
  EXPECT_TRUE(done);
}

TEST(AtEndOfBackward, IsDestroyedWhenBackwardThrows) {
  const auto first = torch::zeros({2}, torch::requires_grad());
  const auto second = torch::zeros({2}, torch::requires_grad());
  std::weak_ptr<int> witness;
  bool called = false;
  const auto queue = [&] {
    auto token = std::make_shared<int>(1);
    witness = token;
    at_end_of_backward([&called, token] { called = true; });
  };
  const GradientHook queues(first, as_is, queue);
  const GradientHook throws(second, as_is, [] { throw std::runtime_error("no"); });
  EXPECT_THROW((second.sum() + first.sum()).backward(), std::runtime_error);
  EXPECT_FALSE(called);
  EXPECT_TRUE(witness.expired());
}

}  // namespace
}  // namespace lockstep
