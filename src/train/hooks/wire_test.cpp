// What hooks say that they send is what a network is given to carry.
#include <gtest/gtest.h>
#include <lockstep/hooks.h>
#include <lockstep/one_bit_adam.h>
#include <lockstep/traffic.h>

#include "group/thread_world.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

/// A bucket of one matrix, of numbers that differ from rank to rank.
GradientBucket bucket_of(const Group& group) {
  GradientBucket bucket;
  bucket.flat = torch::sin(torch::arange(1 << 20, torch::kFloat32) * (1.3 + group.rank()));
  bucket.parameters = {"matrix"};
  bucket.gradients = {bucket.flat.view({1 << 10, 1 << 10})};
  bucket.last = true;
  return bucket;
}

struct WireCase {
  const char* name;
  std::function<BucketHookPtr(const Group&)> make;
};

void PrintTo(const WireCase& of, std::ostream* out) { *out << of.name; }

class Wire : public ::testing::TestWithParam<WireCase> {};
INSTANTIATE_TEST_SUITE_P(
    Hooks, Wire,
    ::testing::Values(
        WireCase{"AllReduce", [](const Group& g) { return all_reduce_hook(g); }},
        WireCase{"Bfloat16", [](const Group& g) { return cast_hook(torch::kBFloat16, all_reduce_hook(g)); }},
        WireCase{"Float16", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); }},
        WireCase{"Int8", [](const Group& g) { return int8_hook(g); }},
        WireCase{"Sign", [](const Group& g) { return sign_hook(g); }},
        WireCase{"Qsgd", [](const Group& g) { return qsgd_hook(g, 7, 1); }},
        WireCase{"TopK", [](const Group& g) { return top_k_hook(g, 0.05); }},
        WireCase{"Threshold", [](const Group& g) { return threshold_hook(g, 0.99); }},
        WireCase{"AdaptiveThreshold", [](const Group& g) { return adaptive_threshold_hook(g, 0.05); }},
        WireCase{"DeepGradient", [](const Group& g) { return deep_gradient_hook(g, {.fraction = 0.05}); }},
        WireCase{"RandomK", [](const Group& g) { return random_k_hook(0.1, 7, all_reduce_hook(g)); }},
        WireCase{"PowerSgd", [](const Group& g) { return power_sgd_hook(g, 32, 7); }}),
    [](const auto& test) { return test.param.name; });

/// Of all ranks.
struct Carried {
  double wire = 0;  ///< bytes, as are those that follow
  double said = 0;
  double dense = 0;
};

/// What `work` sent, of which `traffic` tells. Only in all do ranks send what each has to give: in a gather they send
/// on what they got.
Carried carried(const World& world, const std::function<HookTraffic()>& traffic, const std::function<void()>& work) {
  const auto bytes_before = bytes_sent(world);
  const HookTraffic before = traffic();
  work();
  const auto bytes = static_cast<double>(bytes_sent(world) - bytes_before);
  const HookTraffic after = traffic();
  double totals[] = {bytes, after.sent_bytes - before.sent_bytes, after.dense_bytes - before.dense_bytes};
  world.all_reduce(buffer_of(totals, 3)).wait();
  return {totals[0], totals[1], totals[2]};
}

void expect_said(const Carried& of, const char* name, const World& world) {
  EXPECT_NEAR(of.wire, of.said, 0.03 * of.said) << world.size() << " ranks";
  if (world.rank() != 0) return;
  std::printf("%s on %d ranks: %.0f bytes on the wire, %.0f said, %.2f times fewer than dense\n", name, world.size(),
              of.wire, of.said, of.dense / of.wire);
}

TEST_P(Wire, CarriesWhatTheHookSays) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    detail::run_threads_over_tcp(ranks, [](World& world) {
      at::set_num_threads(1);
      const auto hook = GetParam().make(world);
      expect_said(carried(
                      world, [&] { return hook->traffic(); }, [&] { hook->reduce(bucket_of(world), nullptr).wait(); }),
                  GetParam().name, world);
      EXPECT_NE(hook->traffic().hook_seconds > 0, hook->exact());
    });
  }
}

TEST(Wire, CarriesWhatOneBitAdamSays) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    detail::run_threads_over_tcp(ranks, [](World& world) {
      at::set_num_threads(1);
      const auto parameter = torch::zeros({1 << 20}, torch::requires_grad());
      OneBitAdam optimizer(world, {parameter}, torch::optim::AdamOptions(1e-3), {.warmup = 1});
      const auto hook = optimizer.communication_hook();
      const auto iteration = [&] {
        const auto bucket = bucket_of(world);
        hook(bucket).wait();
        parameter.mutable_grad() = bucket.flat;
        optimizer.step();
      };
      const auto traffic = [&] { return optimizer.traffic(); };
      const Carried warm_up = carried(world, traffic, iteration);
      expect_said(warm_up, "OneBitAdam, warming up,", world);
      EXPECT_EQ(warm_up.said, warm_up.dense);
      const Carried warm = carried(world, traffic, iteration);
      expect_said(warm, "OneBitAdam", world);
      EXPECT_NEAR(warm.dense / warm.wire, 31, 1) << world.size() << " ranks";
    });
  }
}

}  // namespace
}  // namespace lockstep
