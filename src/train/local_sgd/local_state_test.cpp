// A training by Local SGD goes on from a checkpoint as if it had never stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/checkpoint.h>
#include <lockstep/loader.h>
#include <lockstep/local_sgd.h>

#include "base/scratch_folder.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// One rank of it: DiLoCo, whose outer momentum and inner AdamW both remember.
struct LocalTraining {
  explicit LocalTraining(const Group& group, const LocalSgdOptions& options = diloco(2))
      : net(test::make_net(1)),
        replica(group, *net, options),
        optimizer(net->parameters(), 1e-2),
        loader(make_loader(test::spots(), group, test::spots_options())) {
    state.module("model", *net).part(replica.state("replica", optimizer)).loader("loader", *loader);
    state.counter("iteration", iteration);
  }

  void train(std::int64_t iterations) {
    while (iteration < iterations) {
      for (auto& batch : loader->epoch()) {
        optimizer.zero_grad();
        torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
        replica.step(optimizer);
        if (++iteration == iterations) break;
      }
    }
  }
  torch::Tensor parameters() const { return test::flat_parameters(*net).clone(); }

  std::shared_ptr<test::SmallNet> net;
  LocalSgd replica;
  torch::optim::AdamW optimizer;
  std::unique_ptr<Loader> loader;
  std::int64_t iteration = 0;
  TrainingState state;
};

constexpr std::int64_t kSaved = 6;
constexpr std::int64_t kEnd = 11;

TEST(LocalState, GoesOnWithTheSameBits) {
  for (const int ranks : {1, 2, 3, 4}) {
    const ScratchFolder folder;
    test::on_ranks(ranks, [&](World& world) {
      LocalTraining unbroken(world);
      unbroken.train(kSaved);
      Checkpoints checkpoints(world, folder.path());
      checkpoints.save(kSaved, unbroken.state);
      unbroken.train(kEnd);

      LocalTraining resumed(world);
      resumed.train(3);  // whatever was there before is replaced
      EXPECT_EQ(checkpoints.load(resumed.state), kSaved);
      resumed.train(kEnd);
      EXPECT_TRUE(torch::equal(resumed.parameters(), unbroken.parameters())) << ranks << " ranks";
    });
  }
}

/// What the test above would not see if nothing but the model were loaded.
TEST(LocalState, WithoutItATrainingGoesElsewhere) {
  const ScratchFolder folder;
  test::on_ranks(2, [&](World& world) {
    LocalTraining unbroken(world);
    unbroken.train(kSaved);
    Checkpoints checkpoints(world, folder.path());
    TrainingState without;
    without.module("model", *unbroken.net).loader("loader", *unbroken.loader).counter("iteration", unbroken.iteration);
    checkpoints.save(kSaved, without);
    unbroken.train(kEnd);

    LocalTraining resumed(world);
    TrainingState only_model;
    only_model.module("model", *resumed.net).loader("loader", *resumed.loader).counter("iteration", resumed.iteration);
    checkpoints.load(only_model, kSaved);
    resumed.replica = LocalSgd(world, *resumed.net, diloco(2));  // from what was loaded
    resumed.train(kEnd);
    EXPECT_FALSE(torch::equal(resumed.parameters(), unbroken.parameters()));
  });
}

/// Two ranks that have saved what they are after two updates.
void on_saved(const std::function<void(World&, LocalTraining&, Checkpoints&)>& f) {
  const ScratchFolder folder;
  test::on_ranks(2, [&](World& world) {
    LocalTraining training(world);
    training.train(2);
    Checkpoints checkpoints(world, folder.path());
    checkpoints.save(2, training.state);
    f(world, training, checkpoints);
  });
}

TEST(LocalState, EachRankHasALearningRateOfItsOwn) {
  on_saved([](World& world, LocalTraining& training, Checkpoints& checkpoints) {
    auto& options = training.optimizer.param_groups()[0].options();
    options.set_lr(0.5 + world.rank());
    checkpoints.save(3, training.state);
    options.set_lr(7);
    checkpoints.load(training.state);
    EXPECT_EQ(options.get_lr(), 0.5 + world.rank());
  });
}

TEST(LocalState, OfAnotherInnerOptimizerIsRefused) {
  on_saved([](World&, LocalTraining& training, Checkpoints& checkpoints) {
    torch::optim::SGD other(training.net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    TrainingState state;
    state.module("model", *training.net).part(training.replica.state("replica", other));
    EXPECT_THAT([&] { checkpoints.load(state); },
                ThrowsMessage<Error>(HasSubstr("for which this optimizer has no place")));
  });
}

TEST(LocalState, HasANameOfItsOwn) {
  test::on_ranks(2, [](World& world) {
    LocalTraining training(world);
    TrainingState state;
    state.module("model", *training.net);
    EXPECT_THAT([&] { state.part(training.replica.state("model.local", training.optimizer)); },
                ThrowsMessage<Error>(HasSubstr("could not be told apart")));
    EXPECT_THAT([&] { state.module("model", *training.net); },
                ThrowsMessage<Error>(HasSubstr("called 'model' and 'model'")));
  });
}

TEST(LocalState, GoesOnWithOtherRanks) {
  const ScratchFolder folder;
  test::on_ranks(2, [&](World& world) {
    LocalTraining training(world);
    training.train(kSaved);
    Checkpoints(world, folder.path()).save(kSaved, training.state);
  });
  for (const int ranks : {1, 3, 4}) {
    test::on_ranks(ranks, [&](World& world) {
      LocalTraining training(world);
      EXPECT_EQ(Checkpoints(world, folder.path()).load(training.state), kSaved);
      const torch::Tensor before = training.parameters();
      training.train(kSaved + 2);
      EXPECT_GT((training.parameters() - before).norm().item<double>(), 0);
      EXPECT_TRUE(training.parameters().isfinite().all().item<bool>());
    });
  }
}

TEST(LocalState, IsSavedOnlyWhereRanksAreTheSame) {
  const ScratchFolder folder;
  test::on_ranks(2, [&](World& world) {
    LocalTraining training(world);
    training.train(1);
    Checkpoints checkpoints(world, folder.path());
    EXPECT_THAT([&] { checkpoints.save(1, training.state); },
                ThrowsMessage<Error>(HasSubstr("call LocalSgd::synchronise() before a checkpoint is saved")));
    training.replica.synchronise();
    checkpoints.save(1, training.state);
    EXPECT_EQ(checkpoints.iterations(), std::vector<std::int64_t>{1});
  });
}

TEST(LocalState, OfAnotherOuterOptimizerIsRefused) {
  on_saved([](World& world, LocalTraining&, Checkpoints& checkpoints) {
    LocalTraining other(world, {.period = 2});
    EXPECT_THAT([&] { checkpoints.load(other.state); },
                ThrowsMessage<Error>(HasSubstr("for which the outer optimizer here has no place")));
  });
}

}  // namespace
}  // namespace lockstep
