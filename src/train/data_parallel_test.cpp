#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

using test::buckets_of;
using test::clear_gradients;
using test::on_ranks;
using test::Vectors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::ThrowsMessage;

using Names = std::vector<std::string>;

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
    EXPECT_EQ(report.buckets[0].algorithm, world.algorithm_for(Collective::kAllReduce, report.bytes));
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

TEST(DataParallel, RefusesAModuleWithNothingToTrain) {
  Vectors model({"a"});
  model["a"].set_requires_grad(false);
  EXPECT_THAT([&] { DataParallel(World::alone(), model); }, ThrowsMessage<Error>(HasSubstr("nothing to train")));
}

/// Values go from memory to memory.
TEST(DataParallel, NamesAParameterThatLiesOtherwiseOnAnotherRank) {
  const auto wrap = [](World& world) {
    torch::nn::Linear layer(3, 3);
    if (world.rank() == 1) layer->weight.set_data(layer->weight.detach().t());
    const DataParallel replica(world, *layer);
  };
  EXPECT_THAT([&] { on_ranks(2, wrap); },
              ThrowsMessage<Error>(::testing::AllOf(HasSubstr("'weight'"), HasSubstr("with strides [1, 3]"))));
}

TEST(DataParallel, RefusesATypeThatCollectivesDoNotTake) {
  Vectors model({});
  model.register_parameter("wave", torch::zeros({2}, torch::kComplexFloat));
  EXPECT_THAT([&] { DataParallel(World::alone(), model); },
              ThrowsMessage<Error>(HasSubstr("'wave' of type ComplexFloat")));
}

TEST(DataParallel, RefusesCountsThatMakeNoMean) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model);
    EXPECT_THAT([&] { replica.samples(-1); }, ThrowsMessage<Error>(HasSubstr("cannot be negative")));
    EXPECT_THAT([&] { replica.samples(0); }, ThrowsMessage<Error>(HasSubstr("on every rank")));
  });
}

TEST(DataParallel, NamesWhatWasNotReduced) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b", "c"});
    DataParallel replica(world, model);
    torch::optim::SGD optimizer(model.parameters(), 1);
    const auto accumulate = [&](const std::vector<std::string>& names) {
      const auto quiet = replica.pause();
      model.loss(names, 1).backward();
    };
    model["c"].mutable_grad() = torch::ones(4);  // of the program's own
    EXPECT_THAT(replica.parameters_not_reduced(), IsEmpty());
    accumulate({"a"});
    EXPECT_THAT(replica.parameters_not_reduced(), ElementsAre("a"));
    model.loss({"b"}, 1).backward();
    EXPECT_THAT(replica.parameters_not_reduced(), IsEmpty());
    accumulate({"a", "b"});
    model["a"].mutable_grad() = torch::Tensor();
    EXPECT_THAT(replica.parameters_not_reduced(), ElementsAre("b"));
    optimizer.zero_grad();
    EXPECT_THAT(replica.parameters_not_reduced(), IsEmpty());
  });
}

}  // namespace
}  // namespace lockstep
