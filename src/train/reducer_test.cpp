// What is in `.grad` after backward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "train/test_model.h"

namespace lockstep {
namespace {

using test::buckets_of;
using test::clear_gradients;
using test::on_ranks;
using test::Vectors;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

using Names = std::vector<std::string>;

// --- means ---

TEST(Reducer, GradientIsTheMeanOverRanks) {
  on_ranks(4, [](World& world) {
    Vectors model({"a", "b"});
    const DataParallel replica(world, model);
    model.loss({"a", "b"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(1.5));
    EXPECT_THAT(model.gradient("b"), Optional(1.5));
    EXPECT_THAT(replica.parameters_without_gradient(), IsEmpty());
  });
}

TEST(Reducer, EachTypeAndStrideGetsItsMean) {
  on_ranks(2, [](World& world) {
    Vectors model({"float"});
    model.register_parameter("double", torch::zeros({3}, torch::kFloat64));
    model.register_parameter("bfloat16", torch::zeros({3}, torch::kBFloat16));
    model.register_parameter("channels_last", torch::zeros({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast));
    model.register_parameter("transposed", torch::zeros({3, 5}).t());
    const DataParallel replica(world, model);
    const auto input = torch::arange(15, torch::kFloat32).reshape({5, 3}) * (world.rank() + 1);
    (model.loss({"float", "double", "bfloat16", "channels_last"}, world.rank()) + (model["transposed"] * input).sum())
        .backward();
    for (const char* name : {"float", "double", "bfloat16", "channels_last"}) {
      EXPECT_THAT(model.gradient(name), Optional(0.5)) << name;
      EXPECT_EQ(model[name].grad().strides(), model[name].strides()) << name;
    }
    EXPECT_TRUE(torch::equal(model["transposed"].grad(), torch::arange(15, torch::kFloat32).reshape({5, 3}) * 1.5));
    EXPECT_EQ(replica.report().buckets.size(), 3u);  // one a type
  });
}

TEST(Reducer, TiedParametersCountOnce) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    model.register_parameter("again", model["a"]);
    const DataParallel replica(world, model);
    (model.loss({"a"}, world.rank()) + model.loss({"again"}, 10)).backward();
    EXPECT_THAT(model.gradient("a"), Optional(10.5));
    EXPECT_THAT(buckets_of(replica), ElementsAre(Names{"a"}));
  });
}

TEST(Reducer, GradientsLiveInTheBucketsWhateverZeroGradDoes) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    const DataParallel replica(world, model, {.rebuild_buckets = false});
    torch::optim::SGD optimizer(model.parameters(), 0.1);
    const void* memory = nullptr;
    for (int iteration = 0; iteration < 6; ++iteration) {
      if (iteration % 3 == 0) optimizer.zero_grad();
      if (iteration % 3 == 1) clear_gradients(model);
      if (iteration % 3 == 2) {
        for (auto& parameter : model.parameters()) parameter.mutable_grad().detach_().zero_();
      }
      model.loss({"a", "b"}, world.rank() + iteration).backward();
      EXPECT_THAT(model.gradient("a"), Optional(0.5 + iteration));
      if (iteration == 0) memory = model["a"].grad().data_ptr();
      EXPECT_EQ(model["a"].grad().data_ptr(), memory);
    }
  });
}

TEST(Reducer, SeveralBackwardPassesAddUp) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    const DataParallel replica(world, model);
    const auto loss = model.loss({"a"}, world.rank());
    loss.backward({}, /*retain_graph=*/true);
    loss.backward();
    EXPECT_THAT(model.gradient("a"), Optional(1.0));
    model.loss({"a"}, 3).backward();
    EXPECT_THAT(model.gradient("a"), Optional(4.0));
  });
}

TEST(Reducer, ModuleUsedTwiceInOneLoss) {
  on_ranks(2, [](World& world) {
    torch::nn::Linear layer(2, 2);
    {
      torch::NoGradGuard no_grad;
      layer->weight.copy_(torch::eye(2));
      layer->bias.zero_();
    }
    const DataParallel replica(world, *layer);
    layer(layer(torch::full({1, 2}, 1.0 + world.rank()))).sum().backward();
    // W (W x): the gradient of W is twice x for W = 1; its mean over x = 1 and x = 2 is 3.
    EXPECT_TRUE(torch::allclose(layer->weight.grad(), torch::full({2, 2}, 3.0)));
  });
}

TEST(Reducer, ParameterFrozenLaterKeepsItsGradient) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    const DataParallel replica(world, model);
    model.loss({"a", "b"}, world.rank()).backward();
    model["b"].set_requires_grad(false);
    model.loss({"a", "b"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(1.0));
    EXPECT_THAT(model.gradient("b"), Optional(0.5));
    EXPECT_THAT(replica.parameters_without_gradient(), ElementsAre("b"));
  });
}

// --- weights ---

TEST(Reducer, RanksWeighByTheirSamples) {
  on_ranks(3, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model);
    replica.samples(world.rank());  // 0, 1 and 2 samples
    model.loss({"a"}, world.rank() == 0 ? 1000 : world.rank() * 3).backward();
    EXPECT_THAT(model.gradient("a"), Optional(DoubleNear((1 * 3 + 2 * 6) / 3.0, 1e-6)));
    replica.samples(5);  // all the same again
    clear_gradients(model);
    model.loss({"a"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(1.0));
  });
}

TEST(Reducer, RankWithoutSamplesMayComputeNonsense) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model);
    replica.samples(world.rank());
    model.loss({"a"}, world.rank() == 0 ? std::numeric_limits<double>::quiet_NaN() : 2).backward();
    EXPECT_THAT(model.gradient("a"), Optional(2.0));
  });
}

TEST(Reducer, AccumulatedPartsKeepTheirOwnWeights) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model);
    replica.samples(world.rank() == 0 ? 1 : 3);
    {
      const auto quiet = replica.pause();
      model.loss({"a"}, world.rank() == 0 ? 4 : 8).backward();  // mean 1/4 * 4 + 3/4 * 8 = 7
    }
    replica.samples(world.rank() == 0 ? 1 : 0);
    model.loss({"a"}, 10).backward();
    EXPECT_THAT(model.gradient("a"), Optional(17.0));
  });
}

// --- accumulation ---

TEST(Reducer, PausedBackwardStaysLocalAndTheNextTakesAll) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    DataParallel replica(world, model);
    {
      const auto quiet = replica.pause();
      const auto quieter = replica.pause();
      model.loss({"a", "b"}, world.rank()).backward();
      EXPECT_THAT(model.gradient("a"), Optional(world.rank()));
      model.loss({"a"}, world.rank()).backward();
      EXPECT_THAT(model.gradient("a"), Optional(2 * world.rank()));
    }
    model.loss({"a"}, world.rank()).backward();  // b was reached under pause only: it is synchronised too
    EXPECT_THAT(model.gradient("a"), Optional(1.5));
    EXPECT_THAT(model.gradient("b"), Optional(0.5));
    EXPECT_THAT(replica.parameters_without_gradient(), IsEmpty());
  });
}

// --- parameters without a gradient ---

TEST(Reducer, ParameterThatOneRankReachedGetsTheMean) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b", "c"});
    const DataParallel replica(world, model);
    for (int iteration = 0; iteration < 3; ++iteration) {
      clear_gradients(model);
      model.loss(world.rank() == 0 ? Names{"a", "b"} : Names{"b", "c"}, 4).backward();
      EXPECT_THAT(model.gradient("a"), Optional(2.0));
      EXPECT_THAT(model.gradient("b"), Optional(4.0));
      EXPECT_THAT(model.gradient("c"), Optional(2.0));
      EXPECT_THAT(replica.parameters_without_gradient(), IsEmpty());
    }
  });
}

TEST(Reducer, ParameterThatNoRankReachedIsNamedAndLeftAlone) {
  on_ranks(3, [](World& world) {
    Vectors model({"a", "idle", "b"});
    const DataParallel replica(world, model);
    model.loss({"a", "b"}, world.rank()).backward();
    EXPECT_THAT(replica.parameters_without_gradient(), ElementsAre("idle"));
    EXPECT_FALSE(model.gradient("idle").has_value());  // with weight decay a zero would move the parameter

    const float old = 0.1F + 0.2F;  // three of it divided by three is not it
    model["idle"].mutable_grad() = torch::full({4}, old);
    model.loss({"a", "b"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("idle"), Optional(static_cast<double>(old)));

    clear_gradients(model);
    model.loss({"a", "b", "idle"}, world.rank()).backward();  // in the bucket now
    model.loss({"a", "b"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("idle"), Optional(1.0));
    EXPECT_THAT(model.gradient("a"), Optional(2.0));
    model.loss({"a", "b", "idle"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("idle"), Optional(2.0));
  });
}

TEST(Reducer, EarlierGradientCountsWhereOnlyOthersReachTheParameter) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    const DataParallel replica(world, model);
    model.loss({"a", "b"}, 2).backward();
    model.loss(world.rank() == 0 ? Names{"a", "b"} : Names{"a"}, 2).backward();
    EXPECT_THAT(model.gradient("b"), Optional(3.0));  // mean of 2 + 2 and 2
  });
}

}  // namespace
}  // namespace lockstep
