// What was saved at one stage and number of ranks goes on at any other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/processes/temporary_folder.h"
#include "train/checkpoint/opened_checkpoint.h"
#include "train/checkpoint/test_training.h"
#include "train/sharded/sharding_training.h"

namespace lockstep {
namespace {

constexpr std::int64_t kShardedSaved = 6;
constexpr std::int64_t kShardedAll = 12;

class ShardedCheckpoint : public testing_support::TemporaryFolder {
 protected:
  struct Setting {
    int stage;
    int ranks;
    bool pieces = false;    ///< of which none is ever gathered for the checkpoint
    std::string without{};  ///< a planted mistake: a part that is not loaded
  };

  /// The parameters after kShardedAll iterations: saved after kShardedSaved by a run from the start, or loaded and gone
  /// on with.
  torch::Tensor train(const Setting& setting, bool load) const {
    torch::Tensor result;
    test::on_ranks(setting.ranks, [&](World& world) {
      const auto net = test::make_net(load ? 77 : 1);
      Sharded shard(world, {.stage = setting.stage, .first_bucket_bytes = 1024, .bucket_bytes = 4096});
      torch::Tensor end;
      if (setting.stage < 3) {
        shard.attach(*net);
        end = train(*net, shard, world, setting, load);
      } else {
        test::BlockNet blocks(*net, shard);
        shard.attach(blocks);
        end = train(blocks, shard, world, setting, load);
      }
      if (world.rank() == 0) result = end;
    });
    return result;
  }

  template <class Net>
  torch::Tensor train(Net& net, Sharded& shard, World& world, const Setting& setting, bool load) const {
    torch::optim::AdamW optimizer(net.parameters(), 1e-2);
    const auto loader = make_loader(test::spots(), world, test::spots_options());
    Checkpoints checkpoints(world, folder_);
    TrainingState state;
    std::int64_t iteration = 0;
    setting.pieces ? state.module("model", net, shard) : state.module("model", net);
    if (setting.without != "optimizer") state.optimizer("optimizer", optimizer, shard);
    if (setting.without != "loader") state.loader("loader", *loader);
    state.counter("iteration", iteration);
    const auto whole_if_needed = [&] {
      return setting.pieces ? std::nullopt : std::optional<Sharded::Whole>(shard.gather());
    };
    if (load) {
      const auto whole = whole_if_needed();
      checkpoints.load(state);
    }
    while (iteration < kShardedAll) {
      for (auto& batch : loader->epoch()) {
        optimizer.zero_grad();
        torch::nn::functional::cross_entropy(net.forward(batch.data), batch.target).backward();
        shard.step(optimizer);
        if (++iteration == kShardedSaved && !load) {
          const auto whole = whole_if_needed();
          checkpoints.save(iteration, state);
        }
        if (iteration == kShardedAll) break;
      }
    }
    const auto whole = shard.gather();
    return test::flat_parameters(net).clone();
  }
};

TEST_F(ShardedCheckpoint, LoadsAtAnyStageAndNumberOfRanks) {
  const torch::Tensor start = test::flat_parameters(*test::make_net(1));
  for (const Setting& from : {Setting{0, 2}, Setting{1, 3}, Setting{2, 4}, Setting{3, 2}}) {
    const torch::Tensor whole = train(from, false);
    for (const int stage : {0, 1, 2, 3}) {
      for (const int ranks : {1, 3}) {
        const torch::Tensor resumed = train({stage, ranks}, true);
        EXPECT_LE(((resumed - whole).norm() / (whole - start).norm()).item<double>(), 1e-4)
            << "from stage " << from.stage << " on " << from.ranks << " to stage " << stage << " on " << ranks;
      }
    }
    EXPECT_TRUE(torch::equal(train(from, true), whole)) << "the same stage and number of ranks: the same bits";
  }
}

TEST_F(ShardedCheckpoint, OfPiecesLoadsAtAnyStageAndNumberOfRanksInPiecesAndWhole) {
  const torch::Tensor start = test::flat_parameters(*test::make_net(1));
  for (const Setting& from : {Setting{3, 2, true}, Setting{1, 3, true}, Setting{3, 4, false}}) {
    const torch::Tensor whole = train(from, false);
    for (const Setting& to : {Setting{0, 2, true}, Setting{1, 2, true}, Setting{2, 4, true}, Setting{3, 1, true},
                              Setting{3, 3, true}, Setting{3, 3, false}, Setting{0, 1, false}}) {
      EXPECT_LE(((train(to, true) - whole).norm() / (whole - start).norm()).item<double>(), 1e-4)
          << "from stage " << from.stage << " on " << from.ranks << " to stage " << to.stage << " on " << to.ranks;
    }
    for (const bool pieces : {false, true}) {
      EXPECT_TRUE(torch::equal(train({from.stage, from.ranks, pieces}, true), whole)) << "the same bits";
    }
  }
}

TEST_F(ShardedCheckpoint, WithoutItsOptimizerOrItsPlaceInTheDataItGoesElsewhere) {
  const torch::Tensor start = test::flat_parameters(*test::make_net(1));
  const torch::Tensor whole = train({3, 2}, false);
  for (const char* without : {"optimizer", "loader"}) {
    for (const Setting& to :
         {Setting{0, 1, false, without}, Setting{1, 3, false, without}, Setting{3, 3, true, without}}) {
      EXPECT_GT(((train(to, true) - whole).norm() / (whole - start).norm()).item<double>(), 1e-2)
          << "without the " << without << " at stage " << to.stage << " on " << to.ranks;
    }
  }
}

/// Two layers that are wrapped, one of them frozen, and a normalisation with buffers that is not.
struct Mixed : torch::nn::Module {
  Mixed(Sharded& shard, double value) {
    torch::nn::Linear frozen(5, 7), trained(7, 3);
    const torch::NoGradGuard no_grad;
    for (auto& parameter : frozen->parameters()) parameter.set_requires_grad(false);
    for (const auto& layer : {frozen, trained}) {
      layer->weight.copy_(torch::arange(layer->weight.numel()).view_as(layer->weight) * 0.01 * value);
      layer->bias.fill_(value);
    }
    normalisation->running_mean.fill_(value);
    first = register_module("first", shard.wrap(frozen));
    register_module("normalisation", normalisation);
    last = register_module("last", shard.wrap(trained));
  }
  torch::Tensor forward(const torch::Tensor& x) { return last(normalisation(first(x))); }
  Wrapped<torch::nn::LinearImpl> first{nullptr};
  torch::nn::BatchNorm1d normalisation{7};
  Wrapped<torch::nn::LinearImpl> last{nullptr};
};

class CheckpointOfPieces : public ShardedCheckpoint, public testing::WithParamInterface<std::tuple<int, GatherAs>> {};
INSTANTIATE_TEST_SUITE_P(Stages, CheckpointOfPieces,
                         testing::Combine(testing::Values(0, 1, 2, 3),
                                          testing::Values(GatherAs::kFloat32, GatherAs::kBfloat16)));

TEST_P(CheckpointOfPieces, HoldsTheTensorsThatOneOfWholesHolds) {
  const ShardedOptions options{.stage = std::get<0>(GetParam()), .gather_as = std::get<1>(GetParam())};
  test::on_ranks(3, [&](World& world) {
    Sharded shard(world, options), other(world, options);
    Mixed net(shard, 1), loaded(other, 5);
    shard.attach(net);
    other.attach(loaded);
    Checkpoints checkpoints(world, folder_);
    TrainingState of_pieces, of_wholes, into_pieces;
    of_pieces.module("model", net, shard);
    of_wholes.module("model", net);
    into_pieces.module("model", loaded, other);
    const std::size_t registered = shard.registered_bytes();
    net.normalisation->running_mean.fill_(1 + world.rank());
    checkpoints.save(1, of_pieces);
    EXPECT_EQ(shard.registered_bytes(), registered);
    {
      const auto whole = shard.gather();
      checkpoints.save(2, of_wholes);
    }
    const OpenedCheckpoint pieces(checkpoints.path(1)), wholes(checkpoints.path(2));
    EXPECT_EQ(pieces.names("model.").size(), 9u);
    EXPECT_EQ(pieces.names("model."), wholes.names("model."));
    for (const std::string& name : wholes.names("model."))
      EXPECT_TRUE(torch::equal(pieces.read(name), wholes.read(name))) << name;
    EXPECT_TRUE(torch::equal(pieces.read("model.normalisation.running_mean"), torch::ones(7))) << "rank 0's";
    net.normalisation->running_mean.fill_(1);

    const auto x = torch::sin(torch::arange(20, torch::kFloat32)).view({4, 5});
    for (const std::int64_t iteration : {1, 2}) {
      {
        const torch::NoGradGuard no_grad;
        const auto whole = other.gather();
        for (const auto& parameter : loaded.parameters()) parameter.fill_(7);
      }
      checkpoints.load(into_pieces, iteration);
      {
        const torch::NoGradGuard no_grad;
        net.eval();
        loaded.eval();
        EXPECT_TRUE(torch::equal(loaded.forward(x), net.forward(x)));
      }
      const auto whole = shard.gather(), other_whole = other.gather();
      EXPECT_TRUE(torch::equal(test::flat_parameters(loaded), test::flat_parameters(net)));
    }
  });
}

TEST_F(ShardedCheckpoint, OfPiecesIsRefusedWhileTheyAreHeldWholeAndForAnotherModule) {
  test::on_ranks(2, [&](World& world) {
    Sharded shard(world, {.stage = 3});
    Mixed net(shard, 1);
    shard.attach(net);
    torch::nn::Linear other(2, 2);
    Checkpoints checkpoints(world, folder_);
    TrainingState state, of_other;
    state.module("model", net, shard);
    of_other.module("model", *other, shard);
    {
      const auto whole = shard.gather();
      EXPECT_THAT(test::error_of([&] { checkpoints.save(1, state); }),
                  testing::HasSubstr("A checkpoint of pieces came while what gather() returned is held"));
    }
    EXPECT_THAT(test::error_of([&] { checkpoints.save(1, of_other); }),
                testing::HasSubstr("'weight' is trained, and not by the Sharded"));
    EXPECT_TRUE(checkpoints.iterations().empty());
  });
}

/// Adagrad makes its sums when it is made, of parameters that are whole then.
TEST_F(ShardedCheckpoint, OfAdagradIsTakenBeforeItsFirstStep) {
  for (const int stage : {1, 2, 3}) {
    test::on_ranks(2, [&](World& world) {
      const auto run = [&](bool load) {
        const auto [first, second] =
            test::seeded(load ? 2 : 1, [] { return std::pair(torch::nn::Linear(6, 5), torch::nn::Linear(5, 3)); });
        Sharded shard(world, {.stage = stage});
        torch::nn::Sequential net(shard.wrap(first), second);
        shard.attach(*net);
        torch::optim::Adagrad optimizer(net->parameters(),
                                        torch::optim::AdagradOptions(0.1).initial_accumulator_value(load ? 9 : 0.5));
        Checkpoints checkpoints(world, folder_);
        TrainingState state;
        state.module("model", *net, shard).optimizer("optimizer", optimizer, shard);
        load ? checkpoints.load(state, 1) : checkpoints.save(1, state);
        for (int iteration = 0; iteration < 3; ++iteration) {
          optimizer.zero_grad();
          net->forward(torch::ones({2, 6})).square().sum().backward();
          shard.step(optimizer);
        }
        const auto whole = shard.gather();
        return test::flat_parameters(*net).clone();
      };
      const torch::Tensor saved = run(false);
      EXPECT_TRUE(torch::equal(run(true), saved)) << "stage " << stage;
    });
  }
}

TEST_F(ShardedCheckpoint, BlocksInPiecesAreRefused) {
  test::on_ranks(2, [&](World& world) {
    const auto net = test::make_net(1);
    Sharded shard(world, {.stage = 3});
    test::BlockNet blocks(*net, shard);
    shard.attach(blocks);
    Checkpoints checkpoints(world, folder_);
    TrainingState state;
    state.module("model", blocks);
    EXPECT_THAT(test::error_of([&] { checkpoints.save(1, state); }), testing::HasSubstr("gather()"));
    EXPECT_TRUE(checkpoints.iterations().empty());
    {
      const auto whole = shard.gather();
      checkpoints.save(1, state);
    }
    EXPECT_THAT(test::error_of([&] { checkpoints.load(state, 1); }), testing::HasSubstr("gather()"));
  });
}

TEST_F(ShardedCheckpoint, WhatIsNotInRowMajorOrderIsRefused) {
  test::on_ranks(2, [&](World& world) {
    torch::nn::Conv2d net(3, 4, 3);
    for (const bool contiguous : {false, true}) {
      net->weight.set_data(
          net->weight.contiguous(contiguous ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast));
      Sharded shard(world, *net, {.stage = 1});
      torch::optim::AdamW optimizer(net->parameters(), 1e-2);
      Checkpoints checkpoints(world, folder_);
      TrainingState state;
      state.optimizer("optimizer", optimizer, shard);
      if (contiguous) {
        checkpoints.save(1, state);
      } else {
        EXPECT_THAT(test::error_of([&] { checkpoints.save(1, state); }),
                    testing::HasSubstr("'weight' do not lie in the order of its dimensions"));
      }
    }
  });
}

}  // namespace
}  // namespace lockstep
