#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

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

using Names = std::vector<std::string>;

void clear_gradients(torch::nn::Module& module) {
  for (auto& parameter : module.parameters()) parameter.mutable_grad() = torch::Tensor();
}

/// Names in the buckets of the last backward, in slot order.
std::vector<Names> buckets_of(const DataParallel& replica) {
  std::vector<Names> result;
  for (const auto& bucket : replica.report().buckets) result.push_back(bucket.parameters);
  return result;
}

// --- construction ---

TEST(DataParallel, GivesEveryRankTheValuesOfRankZero) {
  on_ranks(3, [](World& world) {
    struct Model : torch::nn::Module {
      explicit Model(double value) {
        register_parameter("plain", torch::full({3, 5}, value));
        register_parameter("transposed", torch::full({3, 5}, value).t());
        register_parameter("frozen", torch::full({2}, value), false);
        register_parameter("scalar", torch::full({}, value));
        register_parameter("empty", torch::empty({0}));
        register_buffer("count", torch::full({2}, static_cast<std::int64_t>(value), torch::kInt64));
        register_buffer("flag", torch::full({1}, value > 5, torch::kBool));
      }
    } model(7 + world.rank());
    const DataParallel replica(world, model);
    for (const auto& tensor : model.parameters()) EXPECT_TRUE((tensor == 7).all().item<bool>());
    EXPECT_TRUE((model.named_buffers()["count"] == 7).all().item<bool>());
    EXPECT_TRUE(model.named_buffers()["flag"].item<bool>());
  });
}

TEST(DataParallel, BroadcastsMoreThanItsStagingHolds) {
  on_ranks(2, [](World& world) {
    torch::nn::Linear layer(3000, 3000);  // 36 MB
    torch::nn::Linear small(3, 3);
    torch::nn::Sequential both(layer, small);
    {
      torch::NoGradGuard no_grad;
      for (auto& parameter : both->parameters()) parameter.fill_(world.rank() == 0 ? 3 : 4);
    }
    const DataParallel replica(world, *both);
    for (const auto& parameter : both->parameters()) EXPECT_TRUE((parameter == 3).all().item<bool>());
  });
}

/// Makes `model_of(rank)` on each of 3 ranks and returns what DataParallel said on each.
std::vector<std::string> refusals(const std::function<std::shared_ptr<torch::nn::Module>(int rank)>& model_of,
                                  const std::function<DataParallelOptions(int rank)>& options_of = nullptr) {
  std::vector<std::string> texts(3);
  on_ranks(3, [&](World& world) {
    const auto model = model_of(world.rank());
    try {
      const DataParallel replica(world, *model, options_of ? options_of(world.rank()) : DataParallelOptions{});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMismatch);
      EXPECT_EQ(error.rank(), world.rank());
      texts[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  return texts;
}

TEST(DataParallel, NamesTheFirstParameterWhoseShapeDiffersOnEveryRank) {
  const auto texts = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"first"}, 2);
    model->register_parameter("second", torch::zeros({3, rank == 2 ? 5 : 4}));
    return model;
  });
  for (const auto& text : texts) {
    EXPECT_THAT(text, HasSubstr("'second' is trainable Float [3, 4] on rank 0 and trainable Float [3, 5] on rank 2"));
  }
}

TEST(DataParallel, NamesWhatElseDiffersBetweenRanks) {
  const auto type = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"a"});
    if (rank == 1) model->to(torch::kFloat64);
    return model;
  });
  EXPECT_THAT(type[0], HasSubstr("'a' is trainable Float [4] on rank 0 and trainable Double [4] on rank 1"));

  const auto name = refusals([](int rank) { return std::make_shared<Vectors>(Names{rank == 2 ? "b" : "a"}); });
  EXPECT_THAT(name[1], HasSubstr("rank 0 has 'a' (trainable Float [4]) where rank 2 has 'b'"));

  const auto frozen = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"a", "b"});
    (*model)["b"].set_requires_grad(rank != 1);
    return model;
  });
  EXPECT_THAT(frozen[2], HasSubstr("'b' is trainable Float [4] on rank 0 and fixed Float [4] on rank 1"));

  const auto buffer = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"a"});
    model->register_buffer("mean", torch::zeros({2 + rank}));
    return model;
  });
  EXPECT_THAT(buffer[0], HasSubstr("'mean' is fixed Float [2] on rank 0 and fixed Float [3] on rank 1"));

  const auto option = refusals([](int) { return std::make_shared<Vectors>(Names{"a"}); },
                               [](int rank) { return DataParallelOptions{.bucket_bytes = rank == 1 ? 100u : 200u}; });
  EXPECT_THAT(option[0], HasSubstr("'option bucket_bytes' is 200 on rank 0 and 100 on rank 1"));
}

TEST(DataParallel, RefusesAModuleWithNothingToTrain) {
  Vectors model({"a"});
  model["a"].set_requires_grad(false);
  EXPECT_THAT([&] { DataParallel(World::alone(), model); }, ThrowsMessage<Error>(HasSubstr("nothing to train")));
}

TEST(DataParallel, RefusesATypeThatCollectivesDoNotTake) {
  Vectors model({});
  model.register_parameter("wave", torch::zeros({2}, torch::kComplexFloat));
  EXPECT_THAT([&] { DataParallel(World::alone(), model); },
              ThrowsMessage<Error>(HasSubstr("'wave' of type ComplexFloat")));
}

// --- means ---

TEST(DataParallel, GradientIsTheMeanOverRanks) {
  on_ranks(4, [](World& world) {
    Vectors model({"a", "b"});
    const DataParallel replica(world, model);
    model.loss({"a", "b"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(1.5));
    EXPECT_THAT(model.gradient("b"), Optional(1.5));
    EXPECT_THAT(replica.parameters_without_gradient(), IsEmpty());
  });
}

TEST(DataParallel, EachTypeAndStrideGetsItsMean) {
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

TEST(DataParallel, TiedParametersCountOnce) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    model.register_parameter("again", model["a"]);
    const DataParallel replica(world, model);
    (model.loss({"a"}, world.rank()) + model.loss({"again"}, 10)).backward();
    EXPECT_THAT(model.gradient("a"), Optional(10.5));
    EXPECT_THAT(buckets_of(replica), ElementsAre(Names{"a"}));
  });
}

TEST(DataParallel, GradientsLiveInTheBucketsWhateverZeroGradDoes) {
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

TEST(DataParallel, SeveralBackwardPassesAddUp) {
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

TEST(DataParallel, ModuleUsedTwiceInOneLoss) {
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

TEST(DataParallel, ParameterFrozenLaterKeepsItsGradient) {
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

TEST(DataParallel, RanksWeighByTheirSamples) {
  on_ranks(3, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model);
    replica.samples(world.rank());  // 0, 1 and 2 samples
    model.loss({"a"}, world.rank() == 0 ? 1000 : world.rank() * 3).backward();
    EXPECT_THAT(model.gradient("a"), Optional(::testing::DoubleNear((1 * 3 + 2 * 6) / 3.0, 1e-6)));
    replica.samples(5);  // all the same again
    clear_gradients(model);
    model.loss({"a"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(1.0));
  });
}

TEST(DataParallel, RankWithoutSamplesMayComputeNonsense) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model);
    replica.samples(world.rank());
    model.loss({"a"}, world.rank() == 0 ? std::numeric_limits<double>::quiet_NaN() : 2).backward();
    EXPECT_THAT(model.gradient("a"), Optional(2.0));
  });
}

TEST(DataParallel, AccumulatedPartsKeepTheirOwnWeights) {
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

TEST(DataParallel, RefusesCountsThatMakeNoMean) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model);
    EXPECT_THAT([&] { replica.samples(-1); }, ThrowsMessage<Error>(HasSubstr("cannot be negative")));
    EXPECT_THAT([&] { replica.samples(0); }, ThrowsMessage<Error>(HasSubstr("on every rank")));
  });
}

// --- accumulation ---

TEST(DataParallel, PausedBackwardStaysLocalAndTheNextTakesAll) {
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

TEST(DataParallel, ParameterThatOneRankReachedGetsTheMean) {
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

TEST(DataParallel, ParameterThatNoRankReachedIsNamedAndLeftAlone) {
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

TEST(DataParallel, EarlierGradientCountsWhereOnlyOthersReachTheParameter) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    const DataParallel replica(world, model);
    model.loss({"a", "b"}, 2).backward();
    model.loss(world.rank() == 0 ? Names{"a", "b"} : Names{"a"}, 2).backward();
    EXPECT_THAT(model.gradient("b"), Optional(3.0));  // mean of 2 + 2 and 2
  });
}

// --- buckets ---

TEST(DataParallel, BucketsAreReversedThenFollowRankZerosOrder) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b", "c", "d"});
    const DataParallel replica(world, model, {.first_bucket_bytes = 64, .bucket_bytes = 128});
    // The last term of the loss gets its gradient first; rank 1 goes another way.
    const Names order = world.rank() == 0 ? Names{"a", "d", "c", "b"} : Names{"d", "c", "b", "a"};
    std::vector<std::vector<Names>> seen;
    for (int iteration = 0; iteration < 3; ++iteration) {
      clear_gradients(model);
      model.loss(order, 1 + world.rank() + iteration).backward();
      EXPECT_THAT(model.gradient("b"), Optional(1.5 + iteration));
      seen.push_back(buckets_of(replica));
    }
    const std::vector<Names> rebuilt{{"b"}, {"c", "d"}, {"a"}};
    EXPECT_THAT(seen[0], ElementsAre(Names{"d"}, Names{"c", "b"}, Names{"a"}));
    EXPECT_EQ(seen[1], rebuilt);
    EXPECT_EQ(seen[2], rebuilt);
  });
}

TEST(DataParallel, RebuildingKeepsGradients) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b", "unused"});
    const DataParallel replica(world, model);
    model.loss({"b", "a"}, world.rank()).backward();
    EXPECT_THAT(buckets_of(replica), ElementsAre(Names{"unused", "b", "a"}));
    EXPECT_THAT(model.gradient("a"), Optional(0.5));
    EXPECT_THAT(model.gradient("b"), Optional(0.5));
    model.loss({"b", "a"}, world.rank()).backward();
    EXPECT_THAT(buckets_of(replica), ElementsAre(Names{"a", "b", "unused"}));
    EXPECT_THAT(model.gradient("b"), Optional(1.0));
  });
}

TEST(DataParallel, CommunicationHookReplacesTheReduction) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    std::vector<int> indices;
    std::vector<bool> last;
    const DataParallel replica(
        world, model,
        {.first_bucket_bytes = 64, .bucket_bytes = 64, .communication_hook = [&](const GradientBucket& bucket) {
           indices.push_back(bucket.index);
           last.push_back(bucket.last);
           EXPECT_EQ(bucket.flat.numel(), 16);
           EXPECT_EQ(bucket.flat.sum().item<double>(), 4.0 * world.rank());
           bucket.flat.fill_(9);
           return Pending();
         }});
    model.loss({"a", "b"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(9.0));
    EXPECT_THAT(indices, ElementsAre(0, 1));
    EXPECT_THAT(last, ElementsAre(false, true));
    EXPECT_EQ(replica.report().buckets[0].algorithm, "communication_hook");
  });
}

TEST(DataParallel, ReportsBytesAndTimes) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"}, 1000);
    const DataParallel replica(world, model);
    model.loss({"a", "b"}, world.rank()).backward();
    const auto& report = replica.report();
    ASSERT_EQ(report.buckets.size(), 1u);
    EXPECT_EQ(report.bytes, 2 * 4032u);  // 4,000 bytes fill 63 lines
    EXPECT_EQ(report.buckets[0].bytes, report.bytes);
    EXPECT_EQ(report.buckets[0].algorithm, "auto");
    EXPECT_GE(report.buckets[0].completed_us, report.buckets[0].launched_us);
    EXPECT_GE(report.backward_ms, 0);
    EXPECT_GT(report.exposed_ms, 0);
  });
}

// --- when things go wrong ---

/// The identity, whose backward throws when told to.
struct Fuse : torch::autograd::Function<Fuse> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input, bool blow) {
    context->saved_data["blow"] = blow;
    return input.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    if (context->saved_data["blow"].toBool()) throw std::runtime_error("blown");
    return {gradients[0], torch::Tensor()};
  }
};

TEST(DataParallel, WorksAgainAfterABackwardThatThrew) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    const DataParallel replica(world, model, {.first_bucket_bytes = 64, .bucket_bytes = 64});
    const auto loss = [&](bool blow) {
      return Fuse::apply(model.loss({"a"}, world.rank()), blow) + model.loss({"b"}, world.rank());
    };
    for (bool blow : {false, true, true, false}) {
      clear_gradients(model);
      if (blow) {
        EXPECT_THROW(loss(true).backward(), std::runtime_error);
        continue;
      }
      loss(false).backward();
      EXPECT_THAT(model.gradient("a"), Optional(0.5));
      EXPECT_THAT(model.gradient("b"), Optional(0.5));
    }
  });
}

TEST(DataParallel, HooksGoWithIt) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    { const DataParallel gone(world, model); }
    model.loss({"a"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(world.rank()));
    clear_gradients(model);
    const DataParallel replica(world, model);
    model.loss({"a"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(0.5));
  });
}

TEST(DataParallel, GradientsOutliveIt) {
  Vectors model({"a"});
  on_ranks(2, [&](World& world) {
    Vectors own({"a"});
    Vectors& mine = world.rank() == 0 ? model : own;
    const DataParallel replica(world, mine);
    mine.loss({"a"}, world.rank()).backward();
  });
  EXPECT_THAT(model.gradient("a"), Optional(0.5));
}

TEST(DataParallel, MovesWithItsHooks) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    DataParallel first(world, model);
    const DataParallel replica(std::move(first));
    model.loss({"a"}, world.rank()).backward();
    EXPECT_THAT(model.gradient("a"), Optional(0.5));
  });
}

TEST(DataParallel, ErrorOfTheGroupComesOutOfBackward) {
  on_ranks(2, [](World& world) {
    Vectors model({"weight"});
    const DataParallel replica(world, model);
    if (world.rank() == 1) return;  // leaves without a backward
    try {
      model.loss({"weight"}, 1).backward();
      ADD_FAILURE() << "nobody answered, and backward returned";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerLeft);
      EXPECT_EQ(error.peer(), 1);
      EXPECT_EQ(error.context().purpose, "gradients of weight (bucket 0)");
    }
  });
}

TEST(DataParallel, NamesAParameterThatChangedItsType) {
  Vectors model({"a"});
  const auto world = World::alone();
  const DataParallel replica(world, model);
  model.to(torch::kFloat64);
  EXPECT_THAT([&] { model.loss({"a"}, 1).backward(); }, ThrowsMessage<Error>(HasSubstr("'a' changed its type")));
}

TEST(DataParallel, RefusesSparseGradients) {
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(10, 3).sparse(true));
  const auto world = World::alone();
  const DataParallel replica(world, *embedding);
  EXPECT_THAT(
      [&] {
        embedding(torch::tensor({1, 2})).sum().backward();
      },
      ThrowsMessage<Error>(HasSubstr("'weight' has a sparse gradient")));
}

}  // namespace
}  // namespace lockstep
