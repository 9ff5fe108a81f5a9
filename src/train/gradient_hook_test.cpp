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

/// The identity, whose backward runs another one, that gives `leaf` a gradient, or that runs another one, and so on.
struct Within : torch::autograd::Function<Within> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor* leaf, int levels) {
    context->saved_data["leaf"] = reinterpret_cast<std::int64_t>(leaf);
    context->saved_data["levels"] = levels;
    return input.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::AutoGradMode with_graph(true);
    const auto* leaf = reinterpret_cast<const torch::Tensor*>(context->saved_data["leaf"].toInt());
    const auto levels = static_cast<int>(context->saved_data["levels"].toInt());
    const auto input = torch::zeros({2}, torch::requires_grad());
    (levels > 1 ? Within::apply(input, leaf, levels - 1) : *leaf).sum().backward();
    return {gradients[0], torch::Tensor(), torch::Tensor()};
  }
};

TEST(AtEndOfBackward, IsThatOfTheOutermostOne) {
  for (const int levels : {1, 2, 3}) {
    const auto leaf = torch::zeros({2}, torch::requires_grad());
    const auto start = torch::zeros({2}, torch::requires_grad());
    int gradients = 0;
    int ends = 0;
    const auto end = [&] {
      ++ends;
      EXPECT_EQ(gradients, 2) << levels << " levels";
      EXPECT_TRUE(start.grad().defined()) << levels << " levels";
    };
    const GradientHook hook(leaf, as_is, [&] {
      if (++gradients == 1) at_end_of_backward(end);
    });
    Within::apply(Within::apply(start, &leaf, levels), &leaf, levels).sum().backward();
    EXPECT_EQ(gradients, 2) << levels << " levels";
    EXPECT_EQ(ends, 1) << levels << " levels";
  }
}

TEST(AtEndOfBackward, IsDestroyedWhenTheOutermostOneThrows) {
  const auto leaf = torch::zeros({2}, torch::requires_grad());
  const auto start = torch::zeros({2}, torch::requires_grad());
  std::weak_ptr<int> witness;
  bool called = false;
  const GradientHook queues(leaf, as_is, [&] {
    const auto token = std::make_shared<int>(1);
    witness = token;
    at_end_of_backward([&called, token] { called = true; });
  });
  const GradientHook throws(start, as_is, [&] {
    EXPECT_FALSE(witness.expired());
    throw std::runtime_error("no");
  });
  EXPECT_THROW(Within::apply(start, &leaf, 1).sum().backward(), std::runtime_error);
  EXPECT_FALSE(called);
  EXPECT_TRUE(witness.expired());
}

}  // namespace
}  // namespace lockstep
