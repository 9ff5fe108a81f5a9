#include "train/sharded/piece_gradients.h"

#include <gtest/gtest.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

/// Rank r of two has the r-th half of one parameter of 32 floats.
struct OneFlat {
  explicit OneFlat(World& world)
      : pool(std::make_shared<BufferPool>(world)),
        flat(world, pool, cut({DataType::kFloat32, 128, {{0, 0}}}, 2), {{"a", parameter, true, ""}}, Keep::kWhole),
        gradients(flat) {}
  torch::Tensor parameter = torch::zeros(32, torch::requires_grad());
  std::shared_ptr<BufferPool> pool;
  ShardedFlat flat;
  PieceGradients gradients;

  RegisteredMemory reduced(float value) {
    RegisteredMemory memory = pool->take(128);
    std::fill_n(static_cast<float*>(memory.data()), 32, value);
    return memory;
  }
};

TEST(PieceGradients, AddsToWhatIsShownOnly) {
  test::on_ranks(2, [](World& world) {
    OneFlat one(world);
    one.gradients.add(one.reduced(2));
    EXPECT_FALSE(one.parameter.grad().defined());
    one.gradients.show(0);
    EXPECT_TRUE(torch::equal(one.parameter.grad(), torch::full(16, 2.0)));
    one.gradients.add(one.reduced(3));
    EXPECT_TRUE(torch::equal(one.parameter.grad(), torch::full(16, 5.0)));
    one.parameter.mutable_grad() = torch::Tensor();  // as zero_grad does it
    one.gradients.add(one.reduced(4));
    one.gradients.show(0);
    EXPECT_TRUE(torch::equal(one.parameter.grad(), torch::full(16, 4.0)));
    one.parameter.grad().detach_().zero_();  // as zero_grad of libtorch 1.13
  });
}

TEST(PieceGradients, HidesFromAutogradAndComesBack) {
  test::on_ranks(2, [](World& world) {
    OneFlat one(world);
    one.gradients.add(one.reduced(2));
    one.gradients.show(0);
    one.gradients.hide(0);
    EXPECT_FALSE(one.parameter.grad().defined());
    one.parameter.mutable_grad() = torch::ones(32);
    EXPECT_FALSE(one.gradients.is_shown(0));
    one.gradients.put_back(0);
    EXPECT_TRUE(one.gradients.is_shown(0));
  });
}

TEST(PieceGradients, SpreadHasTheShownOneAsItsMean) {
  test::on_ranks(2, [](World& world) {
    OneFlat one(world);
    one.gradients.add(one.reduced(world.rank() == 0 ? 2 : 6));
    one.gradients.show(0);
    const auto whole = one.gradients.spread(0);
    world.all_reduce(buffer_of(whole.data_ptr<float>(), 32), ReduceOp::kMean).wait();
    EXPECT_EQ(whole[0].item<float>(), 2);
    EXPECT_EQ(whole[31].item<float>(), 6);
  });
}

}  // namespace
}  // namespace lockstep
