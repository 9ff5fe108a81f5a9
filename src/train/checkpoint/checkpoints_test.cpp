// A training that is saved and loaded, at the same number of ranks and at others, is as if it had never stopped; and
// the comparison that says so fails when something is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>

#include "tests/processes/temporary_folder.h"
#include "train/checkpoint/opened_checkpoint.h"
#include "train/checkpoint/random_part.h"
#include "train/checkpoint/test_training.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::on_ranks;
using test::Training;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSaved = 6;  // in the middle of an epoch of four batches
constexpr std::int64_t kAll = 15;

class Saved : public testing_support::TemporaryFolder {
 protected:
  /// Parameters after kAll iterations of one run, on each rank; saved after kSaved.
  std::vector<torch::Tensor> train_and_save(int ranks, bool in_background = false) const {
    std::vector<torch::Tensor> results(static_cast<std::size_t>(ranks));
    on_ranks(ranks, [&](World& world) {
      Training training(world);
      Checkpoints checkpoints(world, folder_);
      training.train(kAll, [&] {
        if (training.iteration != kSaved) return;
        if (in_background) {
          checkpoints.save_async(kSaved, training.state);
        } else {
          checkpoints.save(kSaved, training.state);
        }
      });
      checkpoints.wait();
      results[static_cast<std::size_t>(world.rank())] = training.parameters();
    });
    return results;
  }

  /// The same of a run that goes on from there. `pick` may load another state.
  std::vector<torch::Tensor> load_and_train(
      int ranks, const std::function<void(Training&)>& pick = [](Training&) {}) const {
    std::vector<torch::Tensor> results(static_cast<std::size_t>(ranks));
    on_ranks(ranks, [&](World& world) {
      Training training(world, /*seed=*/77);
      pick(training);
      Checkpoints checkpoints(world, folder_);
      EXPECT_EQ(checkpoints.load(training.state), kSaved);
      training.iteration = kSaved;
      training.train(kAll);
      results[static_cast<std::size_t>(world.rank())] = training.parameters();
    });
    return results;
  }

  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
};

/// Of two trainings' ends, over the way that one of them went.
double difference(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor start = test::flat_parameters(*test::make_net(1));
  return ((a - b).norm() / (b - start).norm()).item<double>();
}

class SavedOn : public Saved, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SavedOn, testing::Values(1, 2, 3, 4));

TEST_P(SavedOn, GoesOnWithTheSameBitsOnAsManyRanks) {
  const auto whole = train_and_save(GetParam());
  const auto resumed = load_and_train(GetParam());
  for (const auto& result : resumed) EXPECT_TRUE(torch::equal(result, whole[0]));
}

TEST_P(SavedOn, GoesOnOnAnyNumberOfRanks) {
  const auto whole = train_and_save(GetParam(), /*in_background=*/true);
  for (const int ranks : {1, 2, 3, 4}) {
    EXPECT_LE(difference(load_and_train(ranks)[0], whole[0]), 1e-4) << ranks << " ranks";
  }
}

TEST_F(Saved, WithoutItsOptimizerOrItsPlaceInTheDataItGoesElsewhere) {
  const auto whole = train_and_save(2);
  const auto only = [](const std::function<void(Training&)>& add) {
    return [add](Training& training) {
      training.state = TrainingState();
      training.state.module("model", *training.net);
      add(training);
    };
  };
  const auto without_optimizer = load_and_train(2, only([](Training& t) { t.state.loader("loader", *t.loader); }));
  EXPECT_GT(difference(without_optimizer[0], whole[0]), 1e-2);
  const auto without_loader =
      load_and_train(2, only([](Training& t) { t.state.optimizer("optimizer", t.optimizer, *t.net); }));
  EXPECT_GT(difference(without_loader[0], whole[0]), 1e-2);
}

TEST_F(Saved, InTheBackgroundIsAsItWasWhenItWasAskedFor) {
  on_ranks(3, [&](World& world) {
    Training training(world);
    Checkpoints checkpoints(world, folder_);
    for (const std::int64_t iteration : {2, 4}) {  // the second into the memory of the first
      training.train(iteration);
      const torch::Tensor then = training.parameters();
      checkpoints.save_async(iteration, training.state);
      for (auto& parameter : training.net->parameters()) parameter.data().fill_(99);
      checkpoints.wait();
      EXPECT_EQ(checkpoints.report().iteration, iteration);
      EXPECT_GT(checkpoints.report().stall_ms, 0);
      EXPECT_LE(checkpoints.report().stall_ms, checkpoints.report().write_ms);
      EXPECT_GT(checkpoints.report().bytes, 4096u);
      EXPECT_EQ(checkpoints.load(training.state), iteration);
      EXPECT_TRUE(torch::equal(training.parameters(), then));
    }
  });
}

TEST_F(Saved, KeepsTheLastOnes) {
  on_ranks(2, [&](World& world) {
    Training training(world);
    Checkpoints checkpoints(world, folder_, {.keep = 2});
    EXPECT_EQ(checkpoints.load(training.state), std::nullopt);
    for (const std::int64_t iteration : {1, 2, 3, 3}) {
      training.train(iteration);
      checkpoints.save(iteration, training.state);
    }
    EXPECT_THAT(checkpoints.iterations(), ElementsAre(2, 3));
    checkpoints.load(training.state, 2);
    EXPECT_EQ(training.iteration, 2);
    EXPECT_THAT(error_of([&] { checkpoints.load(training.state, 1); }),
                AllOf(HasSubstr("iteration-00000001"), HasSubstr("No such file")));
    EXPECT_THAT(error_of([&] { Checkpoints none(world, folder_, {.keep = 0}); }), HasSubstr("keep is 0"));
  });
  EXPECT_EQ(entries(), 2);
}

TEST_F(Saved, ARunThatBeginsAnewKeepsWhatItSaves) {
  on_ranks(2, [&](World& world) {
    Training training(world);
    Checkpoints checkpoints(world, folder_, {.keep = 2});
    for (const std::int64_t iteration : {1000, 2000, 10, 20, 30}) checkpoints.save(iteration, training.state);
    EXPECT_THAT(checkpoints.iterations(), ElementsAre(20, 30, 1000, 2000));
  });
}

TEST_F(Saved, InTheMiddleOfAnEpochGoesOnWithTheSameOrderOfTheSameSamplesOnly) {
  on_ranks(2, [&](World& world) {
    Training training(world);
    Checkpoints checkpoints(world, folder_);
    training.train(8, [&] {
      if (training.iteration == 6 || training.iteration == 8) checkpoints.save(training.iteration, training.state);
    });
    const auto refusal = [&](const LoaderOptions& options, std::size_t samples = 45, std::int64_t iteration = 6) {
      const auto loader = make_loader(test::Spots(samples), world, options);
      TrainingState state;
      state.loader("loader", *loader);
      return error_of([&] { checkpoints.load(state, iteration); });
    };
    const LoaderOptions same = test::spots_options();
    EXPECT_EQ(refusal(same), "no error");
    LoaderOptions other = same;
    other.seed = 4;
    EXPECT_THAT(refusal(other), AllOf(HasSubstr("in the middle of an epoch"), HasSubstr("with seed 4 and not 3")));
    EXPECT_EQ(refusal(other, 45, 8), "no error") << "a new epoch begins";
    other = same;
    other.shuffle = false;
    EXPECT_THAT(refusal(other), HasSubstr("with shuffle false and not true"));
    other = same;
    other.global_batch = 13;
    EXPECT_THAT(refusal(other), HasSubstr("with global batch 13 samples and not 14 samples"));
    other = same;
    other.lengths.assign(45, 1);
    EXPECT_THAT(refusal(other), HasSubstr("with lengths "));
    EXPECT_THAT(refusal(same, 46), HasSubstr("with dataset 46 samples and not 45 samples"));
  });
}

TEST_F(Saved, ByAnEarlierVersionThatSaysNothingOfTheOrderItIsTaken) {
  std::int64_t epoch = 1, batch = 2, batches = 4;
  TrainingState earlier, now;
  earlier.counter("loader.epoch", epoch).counter("loader.batch", batch).counter("loader.batches", batches);
  Checkpoints checkpoints(World::alone(), folder_);
  checkpoints.save(1, earlier);
  const auto loader = make_loader(test::spots(), World::alone(), test::spots_options());
  now.loader("loader", *loader);
  EXPECT_EQ(checkpoints.load(now), 1);
  EXPECT_EQ(loader->position().epoch, 1);
  EXPECT_EQ(loader->position().batch, 2);
}

TEST_F(Saved, NamesThatCouldNotBeToldApartAreRefused) {
  Training training(World::alone());
  const auto refusal = [&](const std::string& name) {
    return error_of([&] { training.state.tensors(name, [] { return std::vector<TensorSlice>{}; }); });
  };
  EXPECT_THAT(refusal("optimizer.outer"), HasSubstr("'optimizer' and 'optimizer.outer'"));
  EXPECT_THAT(refusal("model.ema"), HasSubstr("'model' and 'model.ema'"));
  training.state.tensors("model_ema", [] { return std::vector<TensorSlice>{}; });
}

TEST_F(Saved, OfBuffersThatDifferHasThoseOfRankZeroWhole) {
  on_ranks(3, [&](World& world) {
    torch::nn::BatchNorm1d net(50);
    const DataParallel replica(world, *net);
    const auto fill = [&](double value) {
      const torch::NoGradGuard no_grad;
      for (const auto& buffer : net->buffers()) buffer.fill_(value);
    };
    fill(1 + world.rank());
    TrainingState state;
    state.module("model", *net);
    Checkpoints checkpoints(world, folder_);
    checkpoints.save(1, state);
    fill(9);
    checkpoints.load(state);
    for (const auto& buffer : net->buffers()) {
      EXPECT_EQ(buffer.min().item<double>(), 1);
      EXPECT_EQ(buffer.max().item<double>(), 1);
    }
  });
}

/// Elements of "w" cut over the ranks at odd places, the last rank having none; the rest of the ranks' cuts in `cuts`.
TensorSlice cut_of(const torch::Tensor& whole, int rank, int ranks) {
  const std::int64_t n = whole.numel(), parts = std::max(ranks - 1, 1);
  const auto at = [&](std::int64_t r) { return std::min(n, n * r * r / (parts * parts)); };
  const std::int64_t begin = at(rank), end = at(rank + 1);
  return {"w", whole.sizes().vec(), begin, whole.flatten().slice(0, begin, end).clone()};
}

TEST_F(Saved, InAnyCutLoadsIntoAnyOther) {
  const torch::Tensor whole = torch::arange(5 * 7 * 11, torch::kFloat32).reshape({5, 7, 11});
  for (const int from : {1, 2, 3, 4}) {
    on_ranks(from, [&](World& world) {
      TensorSlice slice = cut_of(whole, world.rank(), world.size());
      TrainingState state;
      state.tensors("t", [&] { return std::vector{slice}; });
      Checkpoints(world, folder_).save(1, state);
    });
    for (const int to : {1, 2, 3, 4}) {
      on_ranks(to, [&](World& world) {
        TensorSlice slice = cut_of(whole, world.rank(), world.size());
        const torch::Tensor expected = slice.data.clone();
        slice.data.fill_(-1);
        TensorSlice all{"w", {5, 7, 11}, 0, torch::full_like(whole, -1).transpose(0, 2).contiguous().transpose(0, 2)};
        for (TensorSlice* one : {&slice, &all}) {  // `all` as stage 0 has it, in another order in memory
          TrainingState state;
          state.tensors("t", [one] { return std::vector{*one}; });
          EXPECT_EQ(Checkpoints(world, folder_).load(state), 1);
        }
        EXPECT_TRUE(torch::equal(slice.data, expected)) << from << " to " << to;
        EXPECT_TRUE(torch::equal(all.data, whole)) << from << " to " << to;
      });
    }
  }
}

/// No file of the process may grow beyond this while it lives; the signal that would end the process is ignored.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(Saved, OnAFullDiskSaysSoOnEveryRankAndKeepsTheLastGoodOne) {
  for (const bool in_background : {false, true}) {
    on_ranks(3, [&](World& world) {
      // Only rank 1 has much to write.
      const torch::Tensor data = torch::ones(world.rank() == 1 ? 2 << 20 : 100);
      const std::string name = "of rank " + std::to_string(world.rank());
      TrainingState state;
      state.tensors("t", [&] { return std::vector{TensorSlice{name, data.sizes().vec(), 0, data}}; });
      Checkpoints checkpoints(world, folder_);
      checkpoints.save(1, state);
      std::optional<FullDisk> full;
      if (world.rank() == 0) full.emplace(4 << 20);
      world.barrier().wait();
      const std::string error = error_of([&] {
        if (!in_background) return checkpoints.save(2, state);
        checkpoints.save_async(2, state);
        checkpoints.wait();
      });
      world.barrier().wait();
      full.reset();
      EXPECT_THAT(error, AllOf(HasSubstr("Rank 1: "), HasSubstr("shard-00001-of-00003"), HasSubstr("File too large")));
      EXPECT_THAT(checkpoints.iterations(), ElementsAre(1));
    });
    EXPECT_EQ(entries(), 1) << "nothing half-written stays";
  }
}

TEST_F(Saved, RemembersTheRandomStateOfEachRank) {
  const auto saved = World::alone();
  Checkpoints checkpoints(saved, folder_);
  TrainingState state;
  state.random("random");
  torch::manual_seed(5);
  torch::rand(3);
  checkpoints.save(1, state);
  const torch::Tensor expected = torch::rand(5);
  torch::manual_seed(6);
  checkpoints.load(state);
  EXPECT_TRUE(torch::equal(torch::rand(5), expected));
}

TEST_F(Saved, GivesRanksThatWereNotThereARandomStateOfTheirOwn) {
  Checkpoints checkpoints(World::alone(), folder_);
  TrainingState state;
  state.random("random");
  checkpoints.save(1, state);
  const OpenedCheckpoint stored(checkpoints.path(1));
  const auto drawn_by = [&](int rank, int ranks) {
    RandomPart part("random");
    for (const TensorSlice& target : part.targets(stored, rank, ranks)) stored.read(target);
    torch::manual_seed(99);
    part.loaded(stored);
    return torch::rand(5);
  };
  EXPECT_FALSE(torch::equal(drawn_by(0, 3), drawn_by(1, 3)));
  EXPECT_FALSE(torch::equal(drawn_by(1, 3), drawn_by(2, 3)));
  EXPECT_TRUE(torch::equal(drawn_by(2, 3), drawn_by(2, 3)));
}

}  // namespace
}  // namespace lockstep
