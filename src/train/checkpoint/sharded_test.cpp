// What was saved at one stage and number of ranks goes on at any other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/temporary_folder.h"
#include "train/checkpoint/test_training.h"
#include "train/sharded/sharding_training.h"

namespace lockstep {
namespace {

constexpr std::int64_t kSaved = 6;
constexpr std::int64_t kAll = 12;

class ShardedCheckpoint : public testing_support::TemporaryFolder {
 protected:
  struct Setting {
    int stage;
    int ranks;
  };

  /// The parameters after kAll iterations: saved after kSaved by a run from the start, or loaded and gone on with.
  torch::Tensor train(Setting setting, bool load) const {
    torch::Tensor result;
    test::on_ranks(setting.ranks, [&](World& world) {
      const auto net = test::make_net(load ? 77 : 1);
      Sharded shard(world, {.stage = setting.stage, .first_bucket_bytes = 1024, .bucket_bytes = 4096});
      torch::Tensor end;
      if (setting.stage < 3) {
        shard.attach(*net);
        end = train(*net, shard, world, load);
      } else {
        test::BlockNet blocks(*net, shard);
        shard.attach(blocks);
        end = train(blocks, shard, world, load);
      }
      if (world.rank() == 0) result = end;
    });
    return result;
  }

  template <class Net>
  torch::Tensor train(Net& net, Sharded& shard, World& world, bool load) const {
    torch::optim::AdamW optimizer(net.parameters(), 1e-2);
    const auto loader = make_loader(test::spots(), world, test::spots_options());
    Checkpoints checkpoints(world, folder_);
    TrainingState state;
    std::int64_t iteration = 0;
    state.module("model", net).optimizer("optimizer", optimizer, shard).loader("loader", *loader);
    state.counter("iteration", iteration);
    if (load) {
      const auto whole = shard.gather();
      checkpoints.load(state);
    }
    while (iteration < kAll) {
      for (auto& batch : loader->epoch()) {
        optimizer.zero_grad();
        torch::nn::functional::cross_entropy(net.forward(batch.data), batch.target).backward();
        shard.step(optimizer);
        if (++iteration == kSaved && !load) {
          const auto whole = shard.gather();
          checkpoints.save(iteration, state);
        }
        if (iteration == kAll) break;
      }
    }
    const auto whole = shard.gather();
    return test::flat_parameters(net).clone();
  }
};

TEST_F(ShardedCheckpoint, LoadsAtAnyStageAndNumberOfRanks) {
  const torch::Tensor start = test::flat_parameters(*test::make_net(1));
  for (const Setting from : {Setting{0, 2}, Setting{1, 3}, Setting{2, 4}, Setting{3, 2}}) {
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
