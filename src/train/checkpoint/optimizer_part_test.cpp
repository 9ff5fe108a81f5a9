#include "train/checkpoint/optimizer_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <torch/torch.h>

#include "tests/processes/temporary_folder.h"
#include "train/checkpoint/test_training.h"

namespace lockstep {
namespace {

using test::error_of;
using testing::HasSubstr;

using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>;

template <class Optimizer, class Options>
MakeOptimizer making(const Options& options) {
  return [options](std::vector<torch::Tensor> parameters) -> std::unique_ptr<torch::optim::Optimizer> {
    return std::make_unique<Optimizer>(std::move(parameters), options);
  };
}

/// Every optimizer of torch with an element-wise state, with all of that state in use.
std::vector<std::pair<std::string, MakeOptimizer>> optimizers() {
  using namespace torch::optim;
  return {{"Sgd", making<SGD>(SGDOptions(0.1).momentum(0.9))},
          {"PlainSgd", making<SGD>(SGDOptions(0.1))},
          {"Adam", making<Adam>(AdamOptions(0.1).amsgrad(true))},
          {"AdamW", making<AdamW>(AdamWOptions(0.1))},
          {"RmsProp", making<RMSprop>(RMSpropOptions(0.1).momentum(0.9).centered(true))},
          {"Lars", making<Lars>(LarsOptions(0.1).layerwise(false))},
          {"Lamb", making<Lamb>(LambOptions(0.1).layerwise(false))},
          {"Adagrad", making<Adagrad>(AdagradOptions(0.1).lr_decay(0.01))}};
}

/// Two layers of which the second can be left out of an update.
struct Pair : torch::nn::Module {
  explicit Pair(std::int64_t width = 3) {
    register_parameter("a", torch::linspace(-1, 1, 4 * width).reshape({4, width}));
    register_parameter("b", torch::linspace(1, 2, width));
  }
  void update(torch::optim::Optimizer& optimizer, int times) {
    for (int i = 0; i < times; ++i) {
      optimizer.zero_grad();
      ((parameters()[0] * parameters()[1]).sin().sum() * 0.1).backward();
      optimizer.step();
    }
  }
};

class OptimizerState : public testing_support::TemporaryFolder,
                       public testing::WithParamInterface<std::pair<std::string, MakeOptimizer>> {};
INSTANTIATE_TEST_SUITE_P(Of, OptimizerState, testing::ValuesIn(optimizers()),
                         [](const auto& test) { return test.param.first; });

TEST_P(OptimizerState, IsAllThatTheNextUpdatesDependOn) {
  const auto world = World::alone();
  Pair net, other;
  const auto optimizer = GetParam().second(net.parameters()), resumed = GetParam().second(other.parameters());
  net.update(*optimizer, 3);
  optimizer->param_groups()[0].options().set_lr(0.07);
  other.update(*resumed, 1);  // so that there is a state to replace
  TrainingState from, to;
  from.module("model", net).optimizer("optimizer", *optimizer, net);
  to.module("model", other).optimizer("optimizer", *resumed, other);
  Checkpoints checkpoints(world, folder_);
  checkpoints.save(3, from);
  checkpoints.load(to);
  net.update(*optimizer, 3);
  other.update(*resumed, 3);
  EXPECT_TRUE(torch::equal(test::flat_parameters(other), test::flat_parameters(net)));
}

/// A parameter of `whole`'s values, cut for this rank, in an optimizer of its own: as sharded training has it.
TEST_P(OptimizerState, OfSlicesLoadsWholeAndTheOtherWayRound) {
  const torch::Tensor start = torch::linspace(-1, 1, 12).reshape({3, 4}),
                      gradient = torch::linspace(1, 3, 12).reshape({3, 4});
  const auto update = [&](torch::optim::Optimizer& optimizer, const TensorSlice& slice) {
    torch::Tensor data = slice.data;
    data.mutable_grad() = gradient.flatten().slice(0, slice.begin, slice.begin + data.numel()).reshape(data.sizes());
    optimizer.step();
  };
  const auto run = [&](int ranks, bool load) {
    std::vector<torch::Tensor> parts(static_cast<std::size_t>(ranks));
    test::on_ranks(ranks, [&](World& world) {
      const std::int64_t begin = 12 * world.rank() / ranks, end = 12 * (world.rank() + 1) / ranks;
      torch::Tensor data = start.flatten().slice(0, begin, end).clone();
      if (ranks == 1) data = data.reshape({3, 4});
      const TensorSlice slice{"w", {3, 4}, begin, data, ranks == 1};
      const auto optimizer = GetParam().second({data});
      TrainingState state;
      state.tensors("model", [slice] { return std::vector{slice}; });
      state.optimizer("optimizer", *optimizer, [slice] { return std::vector{slice}; });
      Checkpoints checkpoints(world, folder_);
      if (load) {
        checkpoints.load(state);
      } else {
        update(*optimizer, slice);
        update(*optimizer, slice);
        checkpoints.save(2, state);
      }
      update(*optimizer, slice);
      parts[static_cast<std::size_t>(world.rank())] = data.flatten();
    });
    return torch::cat(parts);
  };
  for (const int from : {1, 3}) {
    const torch::Tensor whole = run(from, false);
    for (const int to : {1, 2, 4}) EXPECT_TRUE(torch::equal(run(to, true), whole)) << from << " to " << to;
  }
}

class OptimizerRefusal : public testing_support::TemporaryFolder {};

TEST_F(OptimizerRefusal, OfAnotherKindOrAnotherModel) {
  Pair net, wide(4);
  const auto adam = optimizers()[2].second(net.parameters()), sgd = optimizers()[0].second(net.parameters());
  const auto adam_of_wide = optimizers()[2].second(wide.parameters());
  net.update(*adam, 1);
  TrainingState saved, of_sgd, of_wide, with_two_groups;
  saved.optimizer("optimizer", *adam, net);
  Checkpoints checkpoints(World::alone(), folder_);
  checkpoints.save(1, saved);
  of_sgd.optimizer("optimizer", *sgd, net);
  EXPECT_THAT(error_of([&] { checkpoints.load(of_sgd); }),
              HasSubstr("'optimizer.a.exp_avg', for which this optimizer has no place"));
  of_wide.optimizer("optimizer", *adam_of_wide, wide);
  EXPECT_THAT(error_of([&] { checkpoints.load(of_wide); }), HasSubstr("Float [4, 3] in it and Float [4, 4] here"));
  const auto two_groups = optimizers()[2].second({net.parameters()[0]});
  two_groups->add_param_group(torch::optim::OptimizerParamGroup({net.parameters()[1]}));
  with_two_groups.optimizer("optimizer", *two_groups, net);
  EXPECT_THAT(error_of([&] { checkpoints.load(with_two_groups); }), HasSubstr("no value 'optimizer.group1.lr'"));
}

TEST_F(OptimizerRefusal, OfWhatCannotBeSaved) {
  Pair net, other;
  torch::optim::LBFGS lbfgs(net.parameters());
  EXPECT_THAT(error_of([&] { TrainingState().optimizer("optimizer", lbfgs, net); }),
              HasSubstr("this is another optimizer"));
  const auto adam = optimizers()[2].second(net.parameters());
  TrainingState state;
  state.optimizer("optimizer", *adam, other);
  EXPECT_THAT(error_of([&] { Checkpoints(World::alone(), folder_).save(1, state); }),
              HasSubstr("updates 2 tensors that have no name"));
}

}  // namespace
}  // namespace lockstep
