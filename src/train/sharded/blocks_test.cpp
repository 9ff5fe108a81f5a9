// Stage 3: blocks that are whole only while they run, used in every way that modules are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/sharded.h>

#include <memory>
#include <sstream>

#include "train/sharded/test_blocks.h"

namespace lockstep {
namespace {

using test::adam;
using test::batch_of;
using test::chain;
using test::difference;
using test::expected;
using test::InBlocks;
using test::kWidth;
using test::Layer;
using test::layer;
using test::on_ranks;
using test::Plain;
using test::Use;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<std::pair<std::string, Use>>& uses() {
  static const std::vector<std::pair<std::string, Use>> kUses = {
      {"Chain", chain},
      {"AppliedTwice",
       [](const std::vector<Layer>& l, const torch::Tensor& x) {
         return l[2](torch::tanh(l[0](torch::tanh(l[1](torch::tanh(l[0](x))))))).square().mean();
       }},
      {"OneUnused", [](const std::vector<Layer>& l, const torch::Tensor& x) { return l[2](l[0](x)).square().mean(); }},
      {"Branches", [](const std::vector<Layer>& l,
                      const torch::Tensor& x) { return (l[0](x) * torch::tanh(l[1](x)) + l[2](x)).square().mean(); }},
      {"InPlace",
       [](const std::vector<Layer>& l, const torch::Tensor& x) {
         auto y = l[0](x);
         y.add_(1).mul_(0.5);
         return l[2](torch::tanh(l[1](y.tanh_()))).square().mean();
       }},
      {"NoGradFirst",
       [](const std::vector<Layer>& l, const torch::Tensor& x) {
         torch::Tensor y;
         {
           torch::NoGradGuard no_grad;
           y = l[1](l[0](x));
         }
         return l[2](torch::tanh(l[1](y))).square().mean();
       }},
      {"EvaluatedBefore",
       [](const std::vector<Layer>& l, const torch::Tensor& x) {
         {
           torch::NoGradGuard no_grad;
           chain(l, x);
         }
         return chain(l, x);
       }},
      {"TwoGraphs",
       [](const std::vector<Layer>& l, const torch::Tensor& x) { return chain(l, x) + 0.5 * chain(l, -x); }},
  };
  return kUses;
}

class BlockUse : public ::testing::TestWithParam<std::tuple<int, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(On, BlockUse,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Range(std::size_t{0}, uses().size())));

TEST_P(BlockUse, TrainsAsPlainModulesDo) {
  const auto& [ranks, which] = GetParam();
  const auto& [name, use] = uses()[which];
  EXPECT_LE(difference(ranks, use), 1e-6) << name;
  EXPECT_LE(difference(ranks, use, {.prefetch = false}), 1e-6) << name;
  EXPECT_LE(difference(ranks, use, {.reshard_after_forward = false}), 1e-6) << name;
}

TEST(Blocks, TheComparisonShowsABlockThatIsNotUpdated) {
  const Use detached = [](const std::vector<Layer>& l, const torch::Tensor& x) {
    return chain({l[0], [&](const torch::Tensor& y) { return l[1](y).detach() + y; }, l[2]}, x);
  };
  EXPECT_LE(difference(2, detached), 1e-6);
  on_ranks(2, [&](World& world) {
    Sharded shard(world);
    InBlocks net(shard);
    shard.attach(net);
    const auto whole = shard.gather();
    EXPECT_GT((test::flat_parameters(net) - expected(2, chain)).abs().max().item<double>(), 1e-3);
  });
}

// --- what is whole, and when ---

TEST(Blocks, ParametersArePiecesBetweenAndWholeOnRequest) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    InBlocks net(shard);
    shard.attach(net);
    std::vector<std::int64_t> elements{0};
    for (const auto& parameter : net.parameters()) elements[0] += parameter.numel();
    EXPECT_LT(elements[0], 3 * 42);
    world.all_reduce(buffer_of(elements)).wait();
    EXPECT_EQ(elements[0], 3 * 42);
    const auto whole = shard.gather();
    EXPECT_TRUE(torch::equal(net.parameters()[2], layer(1)->weight));
  });
}

TEST(Blocks, SavingOrLoadingAPieceIsRefusedAndTheWholeIsNot) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    auto net = std::make_shared<InBlocks>(shard);
    shard.attach(*net);
    std::stringstream stream;
    EXPECT_THAT([&] { torch::save(net, stream); },
                ThrowsMessage<Error>(HasSubstr("Block 0 (torch::nn::LinearImpl) cannot be saved")));
    auto whole = std::make_unique<Sharded::Whole>(shard.gather());
    std::stringstream saved;
    torch::save(net, saved);
    auto plain = std::make_shared<Plain>();
    for (auto& parameter : plain->parameters()) parameter.data().zero_();
    torch::load(plain, saved);
    EXPECT_TRUE(torch::equal(plain->parameters()[0], layer(0)->weight));
    whole.reset();
    saved.seekg(0);
    EXPECT_THAT([&] { torch::load(net, saved); },
                ThrowsMessage<Error>(HasSubstr("Block 0 (torch::nn::LinearImpl) cannot be saved or loaded")));
  });
}

TEST(Blocks, AreHeldWholeByTheLastWhoHoldsThem) {
  on_ranks(2, [](World& world) {
    Sharded shard(world, {.stage = 3});
    InBlocks net(shard);
    shard.attach(net);
    auto optimizer = adam(net);
    auto outer = std::make_unique<Sharded::Whole>(shard.gather());
    { const auto inner = shard.gather(); }
    EXPECT_EQ(net.blocks[0]->parameters()[0].dim(), 2) << "still whole";
    {
      const torch::NoGradGuard no_grad;
      net.blocks[0]->parameters()[0].fill_(3);
    }
    EXPECT_THAT([&] { shard.step(optimizer); }, ThrowsMessage<Error>(HasSubstr("let it go first")));
    outer.reset();
    EXPECT_EQ(net.blocks[0]->parameters()[0].dim(), 1);
    const auto whole = shard.gather();
    EXPECT_TRUE(torch::equal(net.blocks[0]->parameters()[0], torch::full({kWidth, kWidth}, 3.0)));
  });
}

TEST(Blocks, WhatGatherTookIsGivenBackWhenItIsLetGo) {
  on_ranks(4, [](World& world) {
    constexpr int kMany = 16;
    Sharded shard(world, {.stage = 3});
    InBlocks net(shard, kMany);
    shard.attach(net);
    auto optimizer = adam(net);
    const std::size_t block = shard.registered_bytes();
    const auto iteration = [&] {
      optimizer.zero_grad();
      torch::Tensor x = batch_of(world.rank());
      for (const Layer& one : net.layers) x = torch::tanh(one(x));
      x.square().mean().backward();
      shard.step(optimizer);
    };
    {
      const auto whole = shard.gather();
      EXPECT_GE(shard.registered_bytes(), kMany * block);
    }
    EXPECT_EQ(shard.registered_bytes(), block) << "before the first iteration";
    for (int i = 0; i < 3; ++i) iteration();
    const std::size_t steady = shard.registered_bytes();
    EXPECT_LE(steady, kMany * block / 2);
    {
      const auto outer = shard.gather();
      const auto inner = shard.gather();
    }
    EXPECT_EQ(shard.registered_bytes(), steady);
    iteration();
    EXPECT_LE(shard.registered_bytes(), kMany * block / 2);
  });
}

TEST(Blocks, WhatIsLoadedWhileWholeIsKept) {
  on_ranks(2, [](World& world) {
    std::stringstream saved;
    auto plain = std::make_shared<Plain>();
    for (auto& parameter : plain->parameters()) parameter.data().fill_(3);
    torch::save(plain, saved);
    Sharded shard(world);
    auto net = std::make_shared<InBlocks>(shard);
    shard.attach(*net);
    {
      const auto whole = shard.gather();
      torch::load(net, saved);
    }
    EXPECT_LT(net->parameters()[0].numel(), 36);
    const auto whole = shard.gather();
    EXPECT_TRUE(torch::equal(net->parameters()[0], torch::full({6, 6}, 3.0)));
  });
}

TEST(Blocks, EveryRankHasRankZerosValues) {
  on_ranks(3, [](World& world) {
    Sharded shard(world);
    auto block = shard.wrap(layer(world.rank()));
    torch::nn::Sequential net(block);
    shard.attach(*net);
    const auto whole = shard.gather();
    EXPECT_TRUE(torch::equal(net->parameters()[0], layer(0)->weight));
  });
}

// --- kinds of blocks ---

TEST(Blocks, KeepNamesAndWorkInASequential) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    torch::nn::Sequential inner(layer(0), torch::nn::Tanh(), torch::nn::Dropout(0.5));
    torch::nn::Sequential net(shard.wrap(inner), shard.wrap(layer(1)));
    shard.attach(*net);
    EXPECT_EQ(net->named_parameters().keys(),
              (std::vector<std::string>{"0.0.weight", "0.0.bias", "1.weight", "1.bias"}));
    net->eval();
    EXPECT_FALSE(inner->is_training());
    const auto x = batch_of(0);
    EXPECT_TRUE(torch::allclose(net->forward(x), layer(1)->forward(torch::tanh(layer(0)->forward(x)))));
  });
}

TEST(Blocks, MayReturnSeveralTensorsAndBeNested) {
  struct Pair : torch::nn::Module {
    explicit Pair(Wrapped<torch::nn::LinearImpl> block)
        : wrapped(register_module("wrapped", std::move(block))), plain(register_module("plain", layer(1))) {}
    std::tuple<torch::Tensor, torch::Tensor> forward(torch::Tensor x) { return {wrapped(x), plain(torch::tanh(x))}; }
    Wrapped<torch::nn::LinearImpl> wrapped;
    torch::nn::Linear plain;
  };
  const Use both = [](const std::vector<Layer>& l, const torch::Tensor& x) {
    return (l[0](x) * l[1](torch::tanh(x))).square().mean();
  };
  const auto reference = expected(2, both);
  on_ranks(2, [&](World& world) {
    Sharded shard(world);
    auto pair = shard.wrap(torch::nn::ModuleHolder<Pair>(std::make_shared<Pair>(shard.wrap(layer(0)))));
    shard.attach(*pair);
    auto optimizer = adam(*pair);
    for (int iteration = 0; iteration < 4; ++iteration) {
      optimizer.zero_grad();
      auto [a, b] = pair(batch_of(world.rank()));
      (a * b).square().mean().backward();
      shard.step(optimizer);
    }
    const auto whole = shard.gather();
    const auto values = test::flat_parameters(*pair);  // the plain layer's come first: it is the block's own child too
    EXPECT_EQ(values.numel(), 84);
    EXPECT_TRUE(torch::allclose(values.sum(), reference.narrow(0, 0, 84).sum(), 1e-5));
  });
}

TEST(Blocks, FrozenParametersAreShardedToo) {
  on_ranks(2, [&](World& world) {
    Sharded shard(world);
    auto frozen = layer(1);
    for (auto& parameter : frozen->parameters()) parameter.set_requires_grad(false);
    torch::nn::Sequential net(shard.wrap(layer(0)), shard.wrap(frozen), shard.wrap(layer(2)));
    shard.attach(*net);
    EXPECT_LT(frozen->weight.numel(), 36);
    auto optimizer = adam(*net);
    for (int iteration = 0; iteration < 2; ++iteration) {
      optimizer.zero_grad();
      net->forward(batch_of(world.rank())).square().mean().backward();
      shard.step(optimizer);
      EXPECT_LT(frozen->weight.numel(), 36);
    }
    const auto whole = shard.gather();
    EXPECT_TRUE(torch::equal(frozen->weight, layer(1)->weight));
    EXPECT_FALSE(torch::equal(net->parameters()[0], layer(0)->weight));
  });
}

// --- backward ---

TEST(Blocks, BackwardMayRunTwiceThroughOneGraph) {
  on_ranks(2, [](World& world) {
    const auto gradient = [&](int times) {
      Sharded shard(world);
      InBlocks net(shard);
      shard.attach(net);
      const auto loss = chain(net.layers, batch_of(world.rank()));
      for (int i = 0; i < times; ++i) loss.backward({}, /*retain_graph=*/i + 1 < times);
      return shard.clip_grad_norm(1e9);
    };
    EXPECT_NEAR(gradient(2), 2 * gradient(1), 1e-5);
  });
}

TEST(Blocks, ABackwardAfterAnUpdateIsRefused) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    InBlocks net(shard);
    shard.attach(net);
    auto optimizer = adam(net);
    const auto old = chain(net.layers, batch_of(0));
    chain(net.layers, batch_of(1)).backward();
    shard.step(optimizer);
    EXPECT_THROW(old.backward(), c10::Error);
  });
}

TEST(Blocks, ADifferentiableBackwardIsRefused) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    InBlocks net(shard);
    shard.attach(net);
    const auto loss = chain(net.layers, batch_of(world.rank()));
    EXPECT_THAT([&] { loss.backward({}, true, /*create_graph=*/true); },
                ThrowsMessage<Error>(HasSubstr("(create_graph)")));
  });
}

TEST(Blocks, AForwardThatThrowsFreesItsBlock) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    InBlocks net(shard);
    shard.attach(net);
    EXPECT_THROW(net.layers[0](torch::ones({2, 5})), c10::Error);
    EXPECT_LT(net.parameters()[0].numel(), 36);
    chain(net.layers, batch_of(0)).backward();
  });
}

// --- misuse ---

TEST(Blocks, RefuseWhatCannotBeSharded) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    auto first = layer(0);
    auto second = layer(1);
    second->register_parameter("tied", first->weight);
    torch::nn::Sequential net(shard.wrap(first));
    EXPECT_THAT([&] { shard.wrap(second); },
                ThrowsMessage<Error>(HasSubstr("'tied' of torch::nn::LinearImpl is shared with a block")));
    auto lost = shard.wrap(layer(2));
    EXPECT_THAT([&] { shard.attach(*net); }, ThrowsMessage<Error>(HasSubstr("has 2 of the 4 parameters")));
    EXPECT_THAT([&] { lost(batch_of(0)).sum().backward(); }, ThrowsMessage<Error>(HasSubstr("call attach() before")));
  });
}

TEST(Blocks, AParameterThatIsRegisteredOutsideOfItsBlockTooIsRefused) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    auto embedding = layer(0);
    torch::nn::Module net;
    net.register_module("embedding", shard.wrap(embedding));
    auto head = net.register_module("head", layer(1));
    head->register_parameter("tied", embedding->weight);
    EXPECT_THAT([&] { shard.attach(net); },
                ThrowsMessage<Error>(HasSubstr("'head.tied' is also 'embedding.weight' of a block that was wrapped")));
  });
}

TEST(Blocks, AParameterThatIsSharedInsideWhatIsWrappedLaterIsRefused) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    auto first = layer(0);
    auto second = layer(1);
    second->register_parameter("tied", first->weight);
    torch::nn::Sequential both(shard.wrap(first), second);
    EXPECT_THAT([&] { shard.wrap(both); },
                ThrowsMessage<Error>(HasSubstr("'1.tied' is also '0.weight' of a block that was wrapped")));
  });
}

TEST(Blocks, MayBeRegisteredTwice) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    const auto block = shard.wrap(layer(0));
    torch::nn::Sequential net(block, torch::nn::Tanh(), block);
    shard.attach(*net);
    net->forward(batch_of(world.rank())).square().mean().backward();
    const auto whole = shard.gather();
    EXPECT_TRUE(torch::equal(net->parameters()[0], layer(0)->weight));
  });
}

TEST(Blocks, AreWrappedBeforeTheRestIsAttached) {
  on_ranks(1, [](World& world) {
    Sharded shard(world);
    InBlocks net(shard);
    shard.attach(net);
    EXPECT_THAT([&] { shard.wrap(layer(0)); }, ThrowsMessage<Error>(HasSubstr("wrap() comes before attach()")));
    EXPECT_THAT([&] { shard.attach(net); }, ThrowsMessage<Error>(HasSubstr("has its module already")));
  });
}

TEST(Blocks, NameWhatDiffersBetweenRanks) {
  on_ranks(2, [](World& world) {
    Sharded shard(world);
    EXPECT_THAT([&] { shard.wrap(torch::nn::Linear(4, 3 + world.rank())); },
                ThrowsMessage<Error>(HasSubstr("'torch::nn::LinearImpl: weight' is trainable Float [3, 4] on rank 0")));
  });
}

/// Blocks of the same size, whose parts fit together, so that nothing else would notice.
TEST(Blocks, ThatRanksRunInAnotherOrderAreNoticed) {
  on_ranks(2, [](World& world) {
    Sharded shard(world, {.stage = 3});
    InBlocks net(shard);
    shard.attach(net);
    const auto loss = [&](const std::vector<std::size_t>& order) {
      auto x = batch_of(world.rank());
      for (const std::size_t i : order) x = net.layers[i](x);
      return x.square().sum();
    };
    const std::vector<std::size_t> own =
        world.rank() == 0 ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{2, 1, 0};
    EXPECT_THAT([&] { loss(own).backward(); },
                ThrowsMessage<Error>(HasSubstr("Ranks ran different blocks, or in different order")));
  });
}

TEST(Blocks, SayThatTheirShardedIsGone) {
  on_ranks(1, [](World& world) {
    auto shard = std::make_unique<Sharded>(world);
    auto block = shard->wrap(layer(0));
    shard.reset();
    EXPECT_THAT([&] { block(batch_of(0)); }, ThrowsMessage<Error>(HasSubstr("used after its Sharded had gone")));
  });
}

}  // namespace
}  // namespace lockstep
