// A training in float16 that is saved and loaded: its float32 weights and its scale are in no other part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/mixed_precision.h>

#include "tests/processes/temporary_folder.h"
#include "train/test_errors.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using test::error_of;
using testing::HasSubstr;

struct HalfNet : torch::nn::Module {
  explicit HalfNet(std::uint64_t seed) {
    const auto start = test::seeded(seed, [] { return torch::randn({36, 3}); });
    weight = register_parameter("weight", start.to(torch::kFloat16));
  }
  torch::Tensor loss(const torch::data::Example<>& batch) {
    const auto scores = torch::matmul(batch.data.flatten(1), weight.to(torch::kFloat32));
    return torch::nn::functional::cross_entropy(scores, batch.target);
  }
  torch::Tensor weight;
};

struct HalfEnd {
  torch::Tensor masters;
  double scale = 0;
  int skipped = 0;
};

class MixedPrecisionState : public testing_support::TemporaryFolder {
 protected:
  /// Saved after 7 of 20 iterations by a run from the start, or loaded and gone on with. `without` is a planted
  /// mistake: the part that is left out.
  HalfEnd train(bool load, const std::string& without = "") const {
    HalfEnd result;
    test::on_ranks(2, [&](World& world) {
      HalfNet net(load ? 77 : 1);
      const DataParallel replica(world, net);
      MasterWeights masters(net.parameters());
      torch::optim::Adam optimizer(masters.parameters(), torch::optim::AdamOptions(1e-4));
      LossScaler scaler({.scale = 1 << 16, .growth_interval = 3});  // it overflows now and then
      const auto loader = make_loader(test::spots(), world, test::spots_options());
      std::int64_t iteration = 0;
      TrainingState state;
      state.module("model", net).optimizer("optimizer", optimizer, masters.slices(net)).loader("loader", *loader);
      state.counter("iteration", iteration);
      if (without != "masters") state.part(masters.state("masters", net));
      if (without != "scaler") state.part(scaler.state("scaler"));
      Checkpoints checkpoints(world, folder_);
      if (load) checkpoints.load(state);
      if (without == "masters") masters.parameters()[0].data().copy_(net.weight);  // which is rounded
      while (iteration < 20) {
        for (auto& batch : loader->epoch()) {
          test::clear_gradients(net);
          scaler.scale(net.loss(batch)).backward();
          masters.take_gradients();
          scaler.step(optimizer);
          masters.give_values();
          if (++iteration == 7 && !load) checkpoints.save(iteration, state);
          if (iteration == 20) break;
        }
      }
      if (world.rank() == 0) result = {masters.parameters()[0].detach().clone(), scaler.scale(), scaler.skipped()};
    });
    return result;
  }
};

TEST_F(MixedPrecisionState, GoesOnWithTheSameBits) {
  const HalfEnd whole = train(false);
  EXPECT_GT(whole.skipped, 1);
  const HalfEnd resumed = train(true);
  EXPECT_TRUE(torch::equal(resumed.masters, whole.masters));
  EXPECT_EQ(resumed.scale, whole.scale);
  EXPECT_EQ(resumed.skipped, whole.skipped);
  EXPECT_FALSE(torch::equal(train(true, "masters").masters, whole.masters));
  EXPECT_NE(train(true, "scaler").skipped, whole.skipped);
}

TEST_F(MixedPrecisionState, OfACheckpointWithoutItIsTheModels) {
  HalfNet net(1), other(2);
  Checkpoints checkpoints(World::alone(), folder_);
  TrainingState saved, state;
  saved.module("model", net);
  checkpoints.save(1, saved);
  const MasterWeights masters(other.parameters());
  LossScaler scaler({.scale = 8});
  state.module("model", other).part(masters.state("masters", other)).part(scaler.state("scaler"));
  checkpoints.load(state);
  EXPECT_TRUE(torch::equal(masters.parameters()[0], net.weight.to(torch::kFloat32)));
  EXPECT_EQ(scaler.scale(), 8);
}

TEST_F(MixedPrecisionState, OfAnUpdateWhoseStepIsLeftOutIsWhatTheNextWouldHave) {
  HalfNet net(1);
  torch::optim::SGD optimizer(net.parameters(), 1);
  LossScaler scaler({.scale = 8}), other;
  net.weight.mutable_grad() = torch::full_like(net.weight, INFINITY);
  EXPECT_FALSE(scaler.unscale(optimizer));
  Checkpoints checkpoints(World::alone(), folder_);
  TrainingState saved, state;
  saved.part(scaler.state("scaler"));
  state.part(other.state("scaler"));
  checkpoints.save(1, saved);
  checkpoints.load(state);
  EXPECT_EQ(other.scale(), 4);
  EXPECT_EQ(other.skipped(), 1);
}

TEST_F(MixedPrecisionState, OfAnotherModelIsRefused) {
  HalfNet net(1), other(2);
  const MasterWeights masters(net.parameters());
  EXPECT_THAT(error_of([&] { masters.state("masters", other); }), HasSubstr("number 1 is none of the module's"));
  EXPECT_THAT(error_of([&] { masters.slices(other); }), HasSubstr("number 1 is none of the module's"));

  Checkpoints checkpoints(World::alone(), folder_);
  std::int64_t scale = -1, good_updates = 0, skipped = 0;
  TrainingState saved, of_masters, of_scaler;
  saved.tensors("masters", [] { return std::vector{TensorSlice{"bias", {2}, 0, torch::ones(2)}}; });
  saved.counter("scaler.scale", scale).counter("scaler.good_updates", good_updates).counter("scaler.skipped", skipped);
  checkpoints.save(1, saved);
  LossScaler scaler;
  of_masters.part(masters.state("masters", net));
  of_scaler.part(scaler.state("scaler"));
  EXPECT_THAT(error_of([&] { checkpoints.load(of_masters); }), HasSubstr("it holds 'masters.bias'"));
  EXPECT_THAT(error_of([&] { checkpoints.load(of_scaler); }), HasSubstr("its 'scaler.scale' is '-1'"));
}

}  // namespace
}  // namespace lockstep
