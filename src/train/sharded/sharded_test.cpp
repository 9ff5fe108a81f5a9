#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/one_bit_adam.h>
#include <lockstep/sharded.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::Vectors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::ThrowsMessage;

/// A parameter is cut in the middle on two ranks: 48 floats are three lines, and with another one of the kind, six.
constexpr std::int64_t kCount = 48;

torch::optim::SGD sgd(torch::nn::Module& module, double rate = 1) {
  return torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(rate));
}

class ShardedStage : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Stage, ShardedStage, ::testing::Values(0, 1, 2));

TEST_P(ShardedStage, EveryRankGetsTheMeanAndAllNewValues) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b", "c"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    for (int iteration = 1; iteration <= 2; ++iteration) {
      optimizer.zero_grad();
      model.loss({"a", "c"}, world.rank() == 0 ? 1 : 3).backward();
      shard.step(optimizer);
      EXPECT_TRUE(torch::equal(model["a"], torch::full(kCount, -2.0 * iteration)));
      EXPECT_TRUE(torch::equal(model["b"], torch::zeros(kCount)));
      EXPECT_TRUE(torch::equal(model["c"], torch::full(kCount, -2.0 * iteration)));
    }
  });
}

/// Reading an archive gives parameters other memory.
TEST_P(ShardedStage, TrainsWhatAnArchiveBrought) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    model["a"].set_data(torch::full(kCount, 5.0));
    model.loss({"a", "b"}, 1).backward();
    shard.step(optimizer);
    EXPECT_TRUE(torch::equal(model["a"], torch::full(kCount, 4.0))) << model["a"][0];
    EXPECT_TRUE(torch::equal(model["b"], torch::full(kCount, -1.0)));
  });
}

TEST_P(ShardedStage, BackwardPassesOfOneUpdateAddUp) {
  on_ranks(3, [](World& world) {
    Vectors model({"a", "b"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    for (int iteration = 1; iteration <= 2; ++iteration) {
      optimizer.zero_grad();
      model.loss({"a", "b"}, world.rank()).backward();  // mean 1
      {
        const auto quiet = shard.pause();
        model.loss({"a"}, 3 * world.rank()).backward();  // mean 3
      }
      model.loss({"b"}, 6 * world.rank()).backward();  // mean 6
      shard.step(optimizer);
      EXPECT_TRUE(torch::allclose(model["a"], torch::full(kCount, -4.0 * iteration))) << model["a"];
      EXPECT_TRUE(torch::allclose(model["b"], torch::full(kCount, -7.0 * iteration))) << model["b"];
    }
  });
}

TEST_P(ShardedStage, WhatWasPausedAndDroppedIsGone) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    {
      const auto quiet = shard.pause();
      model.loss({"a"}, 100).backward();
    }
    optimizer.zero_grad();
    model.loss({"a"}, 1).backward();
    shard.step(optimizer);
    EXPECT_TRUE(torch::equal(model["a"], torch::full(kCount, -1.0)));
  });
}

TEST_P(ShardedStage, WhatWasPausedAndNotReducedIsRefused) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    model.loss({"b"}, 1).backward();
    {
      const auto quiet = shard.pause();
      model.loss({"a"}, 1 + 2 * world.rank()).backward();
    }
    const auto is_refused = ThrowsMessage<Error>(HasSubstr("'a' was not reduced over the ranks"));
    EXPECT_THAT([&] { shard.clip_grad_norm(1); }, is_refused);
    EXPECT_THAT([&] { shard.step(optimizer); }, is_refused);
    EXPECT_TRUE(torch::equal(model["b"], torch::zeros(kCount)));
    model.loss({"b"}, 1).backward();
    shard.step(optimizer);
    EXPECT_TRUE(torch::equal(model["a"], torch::full(kCount, -2.0)));
    EXPECT_TRUE(torch::equal(model["b"], torch::full(kCount, -2.0)));
  });
}

TEST_P(ShardedStage, GradientsThatNoPauseLeftAreTaken) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    {
      const auto quiet = shard.pause();
      model.loss({"a"}, 100).backward();
    }
    test::clear_gradients(model);
    shard.step(optimizer);
    if (GetParam() < 2) {  // above, gradients are pieces after a backward that synchronises only
      {
        const auto quiet = shard.pause();
        model.loss({"a"}, 100).backward();
      }
      optimizer.zero_grad();
      shard.step(optimizer);
      model["a"].mutable_grad() = torch::zeros(kCount);
      model["b"].mutable_grad() = torch::ones(kCount);  // of the program's own
      shard.clip_grad_norm(1000);
      shard.step(optimizer);
      EXPECT_TRUE(torch::equal(model["b"], torch::full(kCount, -1.0)));
    }
    EXPECT_TRUE(torch::equal(model["a"], torch::zeros(kCount)));
  });
}

TEST_P(ShardedStage, AParameterThatNoRankReachedKeepsItsGradientAndValue) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b", "c"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    torch::optim::AdamW optimizer(model.parameters(), torch::optim::AdamWOptions(0.5).weight_decay(0.5));
    model.loss(world.rank() == 0 ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"}, 1).backward();
    EXPECT_FALSE(model["c"].grad().defined());
    EXPECT_THAT(shard.parameters_without_gradient(), ElementsAre("c"));
    EXPECT_THAT(shard.report().unreached, ElementsAre("c"));
    shard.step(optimizer);
    EXPECT_TRUE(torch::equal(model["c"], torch::zeros(kCount)));
    EXPECT_LT(model["b"].max().item<double>(), 0);  // one rank reached it
  });
}

TEST_P(ShardedStage, SamplesWeighTheMean) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    shard.samples(world.rank() == 0 ? 1 : 3);
    model.loss({"a"}, world.rank() == 0 ? 8 : 4).backward();
    shard.step(optimizer);
    EXPECT_TRUE(torch::equal(model["a"], torch::full(kCount, -5.0)));
  });
}

TEST_P(ShardedStage, ClipsByTheNormOfAllPieces) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"}, 8);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    model.loss({"a", "b"}, 3).backward();
    EXPECT_DOUBLE_EQ(shard.clip_grad_norm(6), 12);
    shard.step(optimizer);
    EXPECT_TRUE(torch::allclose(model["a"], torch::full(8, -1.5)));
    EXPECT_THAT([&] { shard.clip_grad_norm(0); }, ThrowsMessage<Error>(HasSubstr("a norm is above 0")));
  });
}

TEST_P(ShardedStage, ABackwardThroughValuesFromBeforeAStepIsRefused) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    auto optimizer = sgd(model);
    const auto loss = (model["a"] * model["a"] * model["b"]).sum();
    model.loss({"a", "b"}, 1).backward();
    shard.step(optimizer);
    EXPECT_THAT([&] { loss.backward(); }, ThrowsMessage<c10::Error>(HasSubstr("modified by an inplace operation")));
  });
}

TEST_P(ShardedStage, PiecesOfAllRanksAreAllOfEachParameterOnce) {
  on_ranks(3, [](World& world) {
    Vectors model({"a", "b"}, 100);
    Sharded shard(world, model, {.stage = GetParam()});
    const auto pieces = shard.pieces();
    ASSERT_EQ(pieces.size(), 2u);
    std::vector<std::int64_t> sizes(2);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(pieces[i].name, i == 0 ? "a" : "b");
      EXPECT_THAT(pieces[i].shape, ElementsAre(100));
      EXPECT_EQ(pieces[i].values.numel(), pieces[i].end - pieces[i].begin);
      sizes[i] = pieces[i].end - pieces[i].begin;
    }
    world.all_reduce(buffer_of(sizes)).wait();
    EXPECT_THAT(sizes, ElementsAre(GetParam() == 0 ? 300 : 100, GetParam() == 0 ? 300 : 100));
  });
}

TEST(Sharded, StateIsOfThisRanksPieces) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"}, kCount);
    Sharded shard(world, model, {.stage = 2});
    torch::optim::Adam optimizer(model.parameters());
    model.loss({"a", "b"}, 1).backward();
    EXPECT_EQ(shard.report().buckets.size(), 1u);
    EXPECT_EQ(shard.report().bytes, 2u * kCount * 4);
    shard.step(optimizer);
    std::int64_t elements = 0;
    for (const auto& [key, state] : optimizer.state()) {
      elements += static_cast<torch::optim::AdamParamState&>(*state).exp_avg().numel();
    }
    EXPECT_EQ(elements, kCount);
    EXPECT_EQ(shard.registered_bytes(), 2u * 2 * kCount * 4) << "values, and the buffer that gradients passed through";
  });
}

TEST(Sharded, PredictsWhatTrainingTakes) {
  EXPECT_DOUBLE_EQ(predicted_bytes_per_parameter(0, 4), 16);
  EXPECT_DOUBLE_EQ(predicted_bytes_per_parameter(1, 4), 10);
  EXPECT_DOUBLE_EQ(predicted_bytes_per_parameter(2, 4), 7);
  EXPECT_DOUBLE_EQ(predicted_bytes_per_parameter(3, 4), 4);
}

TEST(Sharded, RefusesWhatItCannotDo) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, kCount);
    EXPECT_THAT([&] { Sharded(world, model, {.stage = 4}); }, ThrowsMessage<Error>(HasSubstr("no stage 4")));
    Sharded shard(world, model);
    torch::optim::LBFGS lbfgs(model.parameters());
    EXPECT_THAT([&] { shard.step(lbfgs); }, ThrowsMessage<Error>(HasSubstr("does not take LBFGS")));
    auto optimizer = sgd(model);
    {
      const auto quiet = shard.pause();
      model.loss({"a"}, 1).backward();
    }
    EXPECT_THAT([&] { shard.step(optimizer); }, ThrowsMessage<Error>(HasSubstr("'a' was not reduced over the ranks")));
  });
}

TEST_P(ShardedStage, TakesOneBitAdamOnlyWhereNothingIsCut) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, kCount);
    Sharded shard(world, model, {.stage = GetParam()});
    OneBitAdam optimizer(world, model.parameters(), torch::optim::AdamOptions(1e-3), {.warmup = 1});
    const auto update = [&] {
      model.loss({"a"}, 1).backward();
      shard.step(optimizer);
    };
    if (GetParam() > 0) {
      EXPECT_THAT(update, ThrowsMessage<Error>(HasSubstr("Sharded does not take OneBitAdam at stages 1 to 3")));
    } else {
      update();
      update();
    }
  });
}

TEST(Sharded, NamesWhatDiffersBetweenRanks) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, kCount);
    EXPECT_THAT([&] { Sharded(world, model, {.stage = 1 + world.rank()}); },
                ThrowsMessage<Error>(HasSubstr("'option stage' is 1 on rank 0 and 2 on rank 1")));
  });
}

TEST(Sharded, ParametersAreWholeAgainWhenTheOptimizerThrows) {
  struct Broken : torch::optim::SGD {
    using SGD::SGD;
    torch::Tensor step(LossClosure) override { throw std::runtime_error("broken"); }
  };
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, kCount);
    Sharded shard(world, model);
    Broken optimizer(model.parameters(), torch::optim::SGDOptions(1));
    model.loss({"a"}, 1).backward();
    EXPECT_THROW(shard.step(optimizer), std::runtime_error);
    EXPECT_EQ(model["a"].numel(), kCount);
  });
}

TEST(Sharded, AnArchiveOfAnotherModelIsNamed) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, kCount);
    Sharded shard(world, model, {.stage = 2});
    auto optimizer = sgd(model);
    {
      const auto whole = shard.gather();
      model["a"].set_data(torch::ones(kCount + 1));
    }
    model.loss({"a"}, 1).backward();
    EXPECT_THAT([&] { shard.step(optimizer); },
                ThrowsMessage<Error>(HasSubstr("Parameter 'a' was trainable Float [48] and has been made trainable "
                                               "Float [49] (an archive of another model?)")));
    EXPECT_EQ(model["a"].numel(), kCount);
  });
}

TEST(ShardedStages, RefuseSparseGradientsThatWereNotReduced) {
  on_ranks(2, [](World& world) {
    torch::nn::Embedding table(torch::nn::EmbeddingOptions(10, 4).sparse(true));
    Sharded shard(world, *table, {.stage = 0});
    torch::optim::SGD optimizer(table->parameters(), 1);
    const auto pass = [&] { table->forward(torch::tensor({1, 2})).sum().backward(); };
    {
      const auto quiet = shard.pause();
      pass();
    }
    EXPECT_THAT([&] { shard.step(optimizer); }, ThrowsMessage<Error>(HasSubstr("'weight' was not reduced")));
    optimizer.zero_grad();
    shard.step(optimizer);
    pass();
    shard.step(optimizer);
  });
}

TEST(ShardedStages, RefuseSparseGradients) {
  on_ranks(2, [](World& world) {
    torch::nn::Embedding table(torch::nn::EmbeddingOptions(10, 4).sparse(true));
    const Sharded whole(world, *table, {.stage = 0});
    for (const int stage : {1, 2}) {
      EXPECT_THAT([&] { Sharded(world, *table, {.stage = stage}); },
                  ::testing::ThrowsMessage<Error>(::testing::HasSubstr("'weight' is to get sparse gradients")));
    }
  });
}

}  // namespace
}  // namespace lockstep
