// A list of parameters that is no longer the one that was wrapped.
#include "train/parameter_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/invariant.h>
#include <lockstep/local_sgd.h>
#include <lockstep/sharded.h>
#include <lockstep/uneven.h>
#include <torch/script.h>

#include "train/test_errors.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::thrown_by;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Layers one after the other, the last of which is frozen.
struct Layers : torch::nn::Module {
  Layers() {
    for (const char* name : {"body", "head", "frozen"}) register_module(name, torch::nn::Linear(2, 2));
    unfreeze(false);
  }
  void unfreeze(bool on) {
    for (auto& parameter : named_children()["frozen"]->parameters()) parameter.set_requires_grad(on);
  }
  torch::Tensor loss() const {
    auto values = torch::ones({1, 2});
    for (const auto& layer : children()) values = layer->as<torch::nn::Linear>()->forward(values);
    return values.sum();
  }
};

std::shared_ptr<Layers> make_layers() {
  return test::seeded(1, [] { return std::make_shared<Layers>(); });
}

struct Change {
  std::string said;
  std::function<void(Layers&)> make;
};

std::vector<Change> every_change() {
  const auto layer = [] { return test::seeded(2, [] { return torch::nn::Linear(2, 2); }); };
  return {{"Parameter 'extra.weight' was added", [=](Layers& net) { net.register_module("extra", layer()); }},
          {"Parameter 'head.weight' was replaced", [=](Layers& net) { net.replace_module("head", layer()); }},
          {"Parameter 'frozen.weight' began to require a gradient", [](Layers& net) { net.unfreeze(true); }}};
}

TEST(ParameterWatch, NamesWhatWouldNotBeSynchronised) {
  for (const Change& change : every_change()) {
    const auto net = make_layers();
    const ParameterWatch watch(*net);
    EXPECT_EQ(watch.change(), "");
    change.make(*net);
    EXPECT_EQ(watch.change(), change.said);
  }
}

TEST(ParameterWatch, SaysNothingOfWhatMakesNoDifference) {
  const auto net = make_layers();
  const ParameterWatch watch(*net);
  net->to(torch::kFloat64);
  for (const bool on : {false, true}) {
    for (auto& parameter : net->named_children()["head"]->parameters()) parameter.set_requires_grad(on);
    EXPECT_EQ(watch.change(), "") << on;
  }
  test::clear_gradients(*net);
  net->unregister_module("body");
  EXPECT_EQ(watch.change(), "");
}

TEST(ParameterWatch, SaysNothingOfAModuleThatIsGone) {
  auto net = make_layers();
  const ParameterWatch watch(*net);
  net.reset();
  EXPECT_EQ(watch.change(), "");
}

TEST(ParameterWatch, SeesAModuleThatNobodyShares) {
  Layers net;
  const ParameterWatch watch(net);
  net.register_parameter("extra", torch::zeros({2}));
  EXPECT_EQ(watch.change(), "Parameter 'extra' was added");
}

TEST(ParameterWatch, SeesTorchScript) {
  torch::jit::Module module("Scaled");
  module.register_parameter("scale", torch::zeros({2}, torch::requires_grad()), false);
  const ParameterWatch watch(module);
  EXPECT_EQ(watch.change(), "");
  module.setattr("scale", torch::ones({2}, torch::requires_grad()));
  EXPECT_EQ(watch.change(), "Parameter 'scale' was replaced");
}

TEST(ParameterWatch, SeesTensorsOfAList) {
  const auto trained = torch::zeros({2}, torch::requires_grad());
  const auto fixed = torch::zeros({2});
  const ParameterWatch watch(NamedTensors{{"trained", trained}, {"fixed", fixed}});
  EXPECT_EQ(watch.change(), "");
  fixed.set_requires_grad(true);
  EXPECT_EQ(watch.change(), "Parameter 'fixed' began to require a gradient");
}

class ChangedOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ChangedOn, ::testing::Values(1, 2, 3, 4));

std::string refusal(const std::string& said, int rank, const std::string& owner) {
  return said + " on rank " + std::to_string(rank) + " after " + owner + " was made, which would leave its gradient " +
         "that rank's own: make the " + owner + " anew after such a change, on every rank.";
}

TEST_P(ChangedOn, OneRankIsAnErrorOnAllThatNamesParameterAndRank) {
  for (const Change& change : every_change()) {
    on_ranks(GetParam(), [&](World& world) {
      const auto net = make_layers();
      const DataParallel replica(world, *net);
      const int last = world.size() - 1;
      net->loss().backward();
      if (world.rank() == last) change.make(*net);
      const auto thrown = thrown_by([&] { net->loss().backward(); });
      EXPECT_EQ(thrown.code, ErrorCode::kMismatch);
      EXPECT_EQ(thrown.text, refusal(change.said, last, "DataParallel"));
    });
  }
}

TEST_P(ChangedOn, AllRanksIsAnErrorTooAndNoneOnceItIsUndone) {
  on_ranks(GetParam(), [](World& world) {
    const auto net = make_layers();
    DataParallel replica(world, *net);
    net->loss().backward();
    net->unfreeze(true);
    {
      const auto quiet = replica.pause();
      net->loss().backward();  // of which nothing is sent
    }
    const std::string said = "Parameter 'frozen.weight' began to require a gradient";
    EXPECT_EQ(thrown_by([&] { net->loss().backward(); }).text, refusal(said, 0, "DataParallel"));
    net->unfreeze(false);
    test::clear_gradients(*net);
    net->loss().backward();
    EXPECT_THAT(replica.parameters_without_gradient(), IsEmpty());
  });
}

TEST_P(ChangedOn, OneRankIsAnErrorOfShardedAtEveryStage) {
  for (const int stage : {0, 1, 2, 3}) {
    for (const Change& change : every_change()) {
      on_ranks(GetParam(), [&](World& world) {
        const auto net = make_layers();
        Sharded shard(world, *net, {.stage = stage});
        torch::optim::SGD optimizer(net->parameters(), 0.1);
        for (int iteration = 0; iteration < 2; ++iteration) {
          optimizer.zero_grad();
          net->loss().backward();
          shard.step(optimizer);
        }
        if (world.rank() == 0) change.make(*net);
        EXPECT_EQ(thrown_by([&] { net->loss().backward(); }).text,
                  refusal(change.said, 0, stage < 2 ? "DataParallel" : "Sharded"))
            << "stage " << stage;
      });
    }
  }
}

TEST_P(ChangedOn, OneRankIsAnErrorOfLocalSgdAtItsExchange) {
  for (const Change& change : every_change()) {
    on_ranks(GetParam(), [&](World& world) {
      const auto net = make_layers();
      LocalSgd replica(world, *net, {.period = 2});
      torch::optim::SGD optimizer(net->parameters(), 0.1);
      if (world.rank() == 0) change.make(*net);
      net->loss().backward();
      replica.step(optimizer);
      for (int attempt = 0; attempt < 2; ++attempt) {  // nobody trains on alone
        EXPECT_EQ(thrown_by([&] { replica.step(optimizer); }).text, refusal(change.said, 0, "LocalSgd"));
      }
    });
  }
}

// --- every parameter that was wrapped is gone: no hook runs ---

// Two iterations of training; `before` comes in each before backward.

void train_from_loader(World& world, Layers& net, const std::function<void()>& before) {
  const DataParallel replica(world, net);
  const auto loader = make_loader(test::Spots(4 * static_cast<std::size_t>(world.size())), world,
                                  {.global_batch = std::int64_t{2} * world.size()});
  for ([[maybe_unused]] auto& batch : loader->epoch()) {
    before();
    net.loss().backward();
  }
}

void train_joined(World& world, Layers& net, const std::function<void()>& before) {
  const DataParallel replica(world, net);
  const std::vector<torch::data::Example<>> own(2, {torch::ones({2}), torch::ones({2})});
  for ([[maybe_unused]] auto& batch : join_batches(world, own)) {
    before();
    net.loss().backward();
  }
}

void train_stepping(World& world, Layers& net, const std::function<void()>& before) {
  DataParallel replica(world, net);
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  for (int iteration = 0; iteration < 2; ++iteration) {
    before();
    net.loss().backward();
    replica.step(optimizer);
  }
}

void replace_all(Layers& net) {
  for (const char* name : {"body", "head"}) {
    net.replace_module(name, test::seeded(2, [] { return torch::nn::Linear(2, 2); }));
  }
}

TEST_P(ChangedOn, WhoReplacedAllIsToldWhereTheNextIterationBeginsAndEndsTheWaitOfOthers) {
  for (const auto loop : {train_from_loader, train_joined, train_stepping}) {
    on_ranks(GetParam(), [&](World& world) {
      const auto net = make_layers();
      const int last = world.size() - 1;
      int iterations = 0;
      const auto thrown = thrown_by([&] {
        loop(world, *net, [&] {
          if (++iterations == 2 && world.rank() == last) replace_all(*net);
        });
      });
      EXPECT_EQ(iterations, 2);
      if (world.rank() == last) {
        EXPECT_EQ(thrown.code, ErrorCode::kMismatch);
        EXPECT_EQ(thrown.text, refusal("Parameter 'body.weight' was replaced", last, "DataParallel"));
      } else {
        EXPECT_EQ(thrown.code, ErrorCode::kPeerLeft) << thrown.text;
      }
    });
  }
}

TEST_P(ChangedOn, NobodyIsToldWhoReplacedAllAndTrainsOnlyOnceItIsWrappedAnew) {
  on_ranks(GetParam(), [](World& world) {
    const auto net = make_layers();
    const DataParallel before(world, *net);
    net->loss().backward();
    replace_all(*net);
    const auto loader = make_loader(test::spots(), world, test::spots_options());
    for ([[maybe_unused]] auto& batch : loader->epoch()) net->loss();  // as an evaluation does
    EXPECT_EQ(thrown_by([&] { train_from_loader(world, *net, [] {}); }).text, "no error");
  });
}

TEST(Changed, OneRankIsAnErrorOfInvariantParallel) {
  for (const Change& change : every_change()) {
    on_ranks(2, [&](World& world) {
      const auto net = make_layers();
      InvariantParallel replica(world, *net, {.micro_batches = 2});
      const auto loss = [&](std::int64_t, std::int64_t) { return net->loss(); };
      replica.backward(2, loss);
      if (world.rank() == 1) change.make(*net);
      EXPECT_EQ(thrown_by([&] { replica.backward(2, loss); }).text, refusal(change.said, 1, "InvariantParallel"));
    });
  }
}

}  // namespace
}  // namespace lockstep
