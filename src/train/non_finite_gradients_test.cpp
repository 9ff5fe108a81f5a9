// A gradient that is infinite or not a number on one rank, and what all ranks do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "train/test_parity.h"

namespace lockstep {

void PrintTo(const NonFiniteGradient& gradient, std::ostream* out) {
  *out << gradient.parameter << " on rank " << gradient.rank;
}

namespace {

using test::clear_gradients;
using test::on_ranks;
using test::Vectors;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

auto found(const std::string& parameter, int rank) {
  return AllOf(Field(&NonFiniteGradient::parameter, parameter), Field(&NonFiniteGradient::rank, rank));
}

class NonFiniteOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, NonFiniteOn, ::testing::Values(1, 2, 3, 4));

TEST_P(NonFiniteOn, AllRanksSkipTheUpdateAndKnowWhy) {
  for (const double bad : {kInfinity, -kInfinity, kNotANumber}) {
    on_ranks(GetParam(), [&](World& world) {
      Vectors model({"a", "b", "c"});
      const DataParallel replica(world, model, {.non_finite = NonFinite::kSkip});
      torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(1).momentum(0.9).weight_decay(0.1));
      const int last = world.size() - 1;
      for (int iteration = 0; iteration < 3; ++iteration) {
        optimizer.zero_grad();
        const bool spoil = iteration == 1 && world.rank() == last;
        const auto before = test::flat_parameters(model);
        (model.loss({"a", "c"}, 1) + model.loss({"b"}, spoil ? bad : 2)).backward();
        optimizer.step();
        if (iteration == 1) {
          EXPECT_THAT(replica.report().non_finite, ElementsAre(found("b", last)));
          EXPECT_TRUE(replica.report().skipped);
          EXPECT_TRUE(torch::equal(test::flat_parameters(model), before));
        } else {
          EXPECT_THAT(replica.report().non_finite, IsEmpty());
          EXPECT_FALSE(replica.report().skipped);
          EXPECT_THAT(model.gradient("b"), Optional(2.0));
          EXPECT_FALSE(torch::equal(test::flat_parameters(model), before));
        }
      }
    });
  }
}

TEST_P(NonFiniteOn, AllRanksStopAndNameParameterAndRank) {
  on_ranks(GetParam(), [&](World& world) {
    Vectors model({"a", "b", "c"});
    const DataParallel replica(world, model, {.non_finite = NonFinite::kStop});
    const int last = world.size() - 1;
    model.loss({"a", "b", "c"}, 1).backward();
    try {
      (model.loss({"a"}, 1) + model.loss({"b", "c"}, world.rank() == last ? kNotANumber : 2)).backward();
      ADD_FAILURE() << "a gradient was not a number, and backward returned";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNonFinite);
      EXPECT_EQ(error.peer(), last);
      EXPECT_EQ(error.what(),
                "The gradient of 'b' is infinite or not a number on rank " + std::to_string(last) +
                    ", and so are those of 1 more. The parameters are as they were: lower the learning rate, clip "
                    "gradients, or skip such updates by non_finite = NonFinite::kSkip.");
    }
    clear_gradients(model);
    model.loss({"a", "b", "c"}, 4).backward();  // whoever catches it can go on
    EXPECT_THAT(model.gradient("b"), Optional(4.0));
  });
}

/// One sample, and so one batch of each epoch and one rank's share of it, gives gradients that are no numbers.
class Spoilt : public torch::data::datasets::Dataset<Spoilt> {
 public:
  torch::data::Example<> get(std::size_t index) override {
    auto example = test::spots().get(index);
    if (index == 17) example.data.fill_(kNotANumber);
    return example;
  }
  torch::optional<std::size_t> size() const override { return test::spots().size(); }
};

/// The one process leaves out each batch with that sample, and ranks nothing.
torch::Tensor train_spoilt(const test::Side& side) {
  const auto net = test::make_net(side.seed);
  const auto replica = side.replicate(*net);
  const auto start = test::flat_parameters(*net);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto loader = make_loader(Spoilt(), side.group, test::spots_options());
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      const auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      if (!replica && !loss.isfinite().item<bool>()) continue;
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
  }
  return test::flat_parameters(*net) - start;
}

TEST_P(NonFiniteOn, SkippedUpdatesAreThoseThatOneProcessLeavesOut) {
  const auto result = test::parity_of(train_spoilt, GetParam(), {.non_finite = NonFinite::kSkip});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST(NonFiniteGradients, ParityFailsWhenTheyAreIgnoredOrTheRankAloneIsLeftOut) {
  EXPECT_FALSE(test::parity_of(train_spoilt, 3).difference <= 100 * test::kParityTolerance) << "no number, or large";
  const auto left_out = test::tampering([](int, torch::Tensor& flat) { flat.nan_to_num_(0); });
  EXPECT_GT(test::parity_of(train_spoilt, 3, {}, left_out).difference, 100 * test::kParityTolerance);
  EXPECT_GT(
      test::parity_of(train_spoilt, 3, {.non_finite = NonFinite::kSkip}, test::dropping_the_last_rank()).difference,
      100 * test::kParityTolerance);
}

TEST(NonFiniteGradients, OfSeveralRanksTheHighestIsNamed) {
  on_ranks(4, [](World& world) {
    Vectors model({"a"});
    const DataParallel replica(world, model, {.non_finite = NonFinite::kSkip});
    model.loss({"a"}, world.rank() % 2 == 1 ? kInfinity : 1).backward();
    EXPECT_THAT(replica.report().non_finite, ElementsAre(found("a", 3)));
  });
}

TEST(NonFiniteGradients, WhatWasAccumulatedUnderPauseIsFoundToo) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    DataParallel replica(world, model, {.non_finite = NonFinite::kSkip});
    {
      const auto quiet = replica.pause();
      model.loss({"b"}, world.rank() == 1 ? kInfinity : 1).backward();
    }
    model.loss({"a"}, 1).backward();
    EXPECT_THAT(replica.report().non_finite, ElementsAre(found("b", 1)));
    EXPECT_FALSE(model.gradient("a").has_value());
  });
}

TEST(NonFiniteGradients, WhatWasAccumulatedAndDroppedIsNot) {
  on_ranks(2, [](World& world) {
    for (const bool again : {true, false}) {
      Vectors model({"a", "b"});
      DataParallel replica(world, model, {.non_finite = NonFinite::kSkip});
      model.loss({"a", "b"}, 1).backward();
      clear_gradients(model);
      {
        const auto quiet = replica.pause();
        model.loss({"b"}, kInfinity).backward();
      }
      clear_gradients(model);
      model.loss(again ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"a"}, 2).backward();
      EXPECT_THAT(replica.report().non_finite, IsEmpty());
      EXPECT_THAT(model.gradient("a"), Optional(2.0));
      if (again) {
        EXPECT_THAT(model.gradient("b"), Optional(2.0));
      } else {
        EXPECT_FALSE(model["b"].grad().defined()) << "what was dropped does not come back";
        EXPECT_THAT(replica.parameters_without_gradient(), ElementsAre("b"));
      }
    }
  });
}

TEST(NonFiniteGradients, RankWithoutSamplesMayComputeNonsense) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    DataParallel replica(world, model, {.non_finite = NonFinite::kStop});
    replica.samples(world.rank());
    model.loss({"a"}, world.rank() == 0 ? kNotANumber : 2).backward();
    EXPECT_THAT(model.gradient("a"), Optional(2.0));
  });
}

TEST(NonFiniteGradients, IgnoredByDefault) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    const DataParallel replica(world, model);
    model.loss({"a"}, world.rank() == 1 ? kInfinity : 1).backward();
    EXPECT_THAT(model.gradient("a"), Optional(kInfinity));
    EXPECT_THAT(replica.report().non_finite, IsEmpty());
  });
}

}  // namespace
}  // namespace lockstep
