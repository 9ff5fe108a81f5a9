// Stage 3 under activation checkpointing: blocks run without a graph, and once more inside the backward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/traffic.h>

#include "train/sharded/test_blocks.h"

namespace lockstep {
namespace {

using test::difference;
using test::InBlocks;
using test::Layer;
using test::on_ranks;
using test::Use;

struct KeptLayer : torch::CustomClassHolder {
  explicit KeptLayer(Layer kept) : layer(std::move(kept)) {}
  Layer layer;
};

/// Runs a layer without a graph, and again when its gradients are asked for: a backward within the backward.
struct RunAgain : torch::autograd::Function<RunAgain> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input,
                               const Layer& layer) {
    context->save_for_backward({input});
    context->saved_data["layer"] = c10::IValue::make_capsule(c10::make_intrusive<KeptLayer>(layer));
    return layer(input);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    torch::AutoGradMode with_graph(true);
    const auto input = context->get_saved_variables()[0].detach().requires_grad_();
    const auto kept = context->saved_data["layer"].toCapsule();
    static_cast<const KeptLayer&>(*kept).layer(input).backward(gradients[0]);
    return {input.grad(), torch::Tensor()};
  }
};

Layer checkpointed(const Layer& layer) {
  return [layer](const torch::Tensor& x) {
    return RunAgain::apply(x.requires_grad() ? x : x.clone().requires_grad_(), layer);
  };
}

/// One layer after the other, each with a tanh.
Layer joined(const std::vector<Layer>& layers) {
  return [layers](torch::Tensor x) {
    for (const Layer& one : layers) x = torch::tanh(one(x));
    return x;
  };
}

const std::vector<std::pair<std::string, Use>>& checkpointed_uses() {
  using Layers = std::vector<Layer>;
  static const std::vector<std::pair<std::string, Use>> kUses = {
      {"AllButTheLast",
       [](const Layers& l, const torch::Tensor& x) {
         return l[2](joined({checkpointed(l[0]), checkpointed(l[1])})(x)).square().mean();
       }},
      {"All",
       [](const Layers& l, const torch::Tensor& x) {
         return joined({checkpointed(l[0]), checkpointed(l[1]), checkpointed(l[2])})(x).square().mean();
       }},
      {"TwoTogether",
       [](const Layers& l, const torch::Tensor& x) {
         return l[2](checkpointed(joined({l[0], l[1]}))(x)).square().mean();
       }},
      {"AllTogether",
       [](const Layers& l, const torch::Tensor& x) { return checkpointed(joined(l))(x).square().mean(); }},
      {"OneTwiceTogether",
       [](const Layers& l, const torch::Tensor& x) {
         return l[2](checkpointed(joined({l[0], l[1], l[0]}))(x)).square().mean();
       }},
      {"TheMiddleOne",
       [](const Layers& l, const torch::Tensor& x) {
         return joined({l[0], checkpointed(l[1]), l[2]})(x).square().mean();
       }},
  };
  return kUses;
}

class CheckpointedUse : public ::testing::TestWithParam<std::tuple<int, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(On, CheckpointedUse,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Range(std::size_t{0}, checkpointed_uses().size())));

TEST_P(CheckpointedUse, TrainsAsPlainModulesDo) {
  const auto& [ranks, which] = GetParam();
  const auto& [name, use] = checkpointed_uses()[which];
  EXPECT_LE(difference(ranks, use), 1e-6) << name;
  EXPECT_LE(difference(ranks, use, {.prefetch = false}), 1e-6) << name;
  EXPECT_LE(difference(ranks, use, {.reshard_after_forward = false}), 1e-6) << name;
}

class CheckpointedBlocks : public ::testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(On, CheckpointedBlocks,
                         ::testing::Combine(::testing::Values(2, 3, 4), ::testing::Values(false, true)));

TEST_P(CheckpointedBlocks, AreGatheredOnceInForwardAndOnceInBackwardAndFreedInBetween) {
  constexpr std::uint64_t kBlocks = 12;
  const bool last_too = std::get<1>(GetParam());
  on_ranks(std::get<0>(GetParam()), [&](World& world) {
    Sharded shard(world, {.stage = 3});
    InBlocks net(shard, kBlocks);
    shard.attach(net);
    const std::size_t block = shard.registered_bytes();
    auto optimizer = test::adam(net);
    std::vector<Layer> layers;
    for (const Layer& one : net.layers) layers.push_back(checkpointed(one));
    if (!last_too) layers.back() = net.layers.back();
    for (int iteration = 0; iteration < 4; ++iteration) {
      optimizer.zero_grad();
      const auto before = operations_asked(world).operations;
      const auto loss = joined(layers)(test::batch_of(world.rank())).square().mean();
      const auto between = operations_asked(world).operations;
      EXPECT_EQ(between - before, kBlocks) << "iteration " << iteration;
      loss.backward();
      EXPECT_EQ(operations_asked(world).operations - between, 2 * kBlocks + 1)
          << "gathers, reductions and which parameters got a gradient; iteration " << iteration;
      for (const auto& one : net.blocks) EXPECT_EQ(one->parameters()[0].dim(), 1);
      shard.step(optimizer);
    }
    EXPECT_LE(shard.registered_bytes(), 4 * block) << "two of values, two of gradients";
  });
}

TEST(CheckpointedTwice, OneBlockIsRefusedByName) {
  on_ranks(2, [](World& world) {
    Sharded shard(world, {.stage = 3});
    InBlocks net(shard);
    shard.attach(net);
    const Layer again = checkpointed(net.layers[0]);
    const auto loss = joined({again, again})(test::batch_of(world.rank())).sum();
    EXPECT_THAT([&] { loss.backward(); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr("got a gradient twice in one backward")));
  });
}

}  // namespace
}  // namespace lockstep
