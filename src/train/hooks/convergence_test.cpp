// Training on digits with each hook ends where training without one does, within the bound that is stated here; of
// text, lab/text/compression_test.cpp says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/hooks.h>

#include "train/hooks/test_epoch.h"
#include "train/hooks/test_mnist.h"

namespace lockstep {
namespace {

using test::accuracy;
using test::Digits;
using test::mnist;

using MakeHook = std::function<BucketHookPtr(const Group&)>;
constexpr int kRanks = 2;

struct Outcome {
  double accuracy = 0;
  double ratio = 1;
};

struct Recipe {
  MakeHook make;
  double rate = 0.05;
  double momentum = 0;     ///< of the optimizer
  std::uint64_t seed = 5;  ///< of the order of samples
};

/// One epoch of 25,600 samples in batches of 64, and the accuracy on 10,000 others.
Outcome train(const std::filesystem::path& folder, const Recipe& recipe) {
  const Digits training(folder, "train", 25600);
  const Digits test(folder, "t10k", 10000);
  Outcome outcome;
  test::on_ranks(kRanks, [&](World& world) {
    auto net = test::digit_net();
    const auto hook = recipe.make(world);
    const DataParallel replica(world, *net, {.communication_hook = use(hook)});
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(recipe.rate).momentum(recipe.momentum));
    test::train_epoch(world, net, training, optimizer, recipe.seed);
    if (world.rank() != 0) return;
    outcome = {accuracy(net, test), hook->traffic().ratio()};
  });
  return outcome;
}

BucketHookPtr all_reduce(const Group& group) { return all_reduce_hook(group); }

/// Without compression; the same for all tests of a process, which is why they train it once.
const Outcome& dense_digits(const std::filesystem::path& folder) {
  static const Outcome outcome = train(folder, {all_reduce});
  return outcome;
}

struct Case {
  const char* name;
  MakeHook make;
  double bound;  ///< of accuracy lost against training without compression
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class Convergence : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Hooks, Convergence,
    ::testing::Values(
        Case{"Float16", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); }, 0.005},
        Case{"Bfloat16", [](const Group& g) { return cast_hook(torch::kBFloat16, all_reduce_hook(g)); }, 0.005},
        Case{"Int8", [](const Group& g) { return int8_hook(g); }, 0.005},
        Case{"Sign", [](const Group& g) { return error_feedback(sign_hook(g)); }, 0.01},
        Case{"Qsgd", [](const Group& g) { return qsgd_hook(g, 7, 7); }, 0.01},
        Case{"Threshold", [](const Group& g) { return error_feedback(threshold_hook(g, 0.03)); }, 0.01},
        Case{"AdaptiveThreshold", [](const Group& g) { return error_feedback(adaptive_threshold_hook(g, 0.01)); },
             0.01},
        Case{"TopK", [](const Group& g) { return error_feedback(top_k_hook(g, 0.01)); }, 0.01},
        Case{"RandomK", [](const Group& g) { return error_feedback(random_k_hook(0.1, 7, all_reduce_hook(g))); }, 0.01},
        Case{"PowerSgd", [](const Group& g) { return error_feedback(power_sgd_hook(g, 2, 7)); }, 0.01}),
    [](const auto& test) { return test.param.name; });

TEST_P(Convergence, DigitsAreLearntWithinTheBound) {
  const auto folder = mnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST: set LOCKSTEP_TEST_DATA";
  const Outcome& dense = dense_digits(folder);
  const auto compressed = train(folder, {GetParam().make});
  std::printf("%s: accuracy %.4f, dense %.4f, %.1f times fewer bytes on %d ranks\n", GetParam().name,
              compressed.accuracy, dense.accuracy, compressed.ratio, kRanks);
  EXPECT_GT(dense.accuracy, 0.9);
  EXPECT_GE(compressed.accuracy, dense.accuracy - GetParam().bound);
  EXPECT_GT(compressed.ratio, 1.9);
}

TEST(Convergence, BoundFailsWithoutErrorFeedback) {
  const auto folder = mnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST: set LOCKSTEP_TEST_DATA";
  const Outcome& dense = dense_digits(folder);
  const auto forgetful = train(folder, {[](const Group& g) { return top_k_hook(g, 0.001); }});
  const auto fed = train(folder, {[](const Group& g) { return error_feedback(top_k_hook(g, 0.001)); }});
  std::printf("top_k(0.001): accuracy %.4f, with error feedback %.4f, dense %.4f\n", forgetful.accuracy, fed.accuracy,
              dense.accuracy);
  EXPECT_LT(forgetful.accuracy, dense.accuracy - 0.02);
  EXPECT_GT(fed.accuracy, forgetful.accuracy);
}

/// The mean over several orders of the samples: where so little is sent, one of them says little.
Outcome mean_over_orders(const std::filesystem::path& folder, Recipe recipe) {
  constexpr int kOrders = 5;
  Outcome mean{0, 0};
  for (int i = 0; i < kOrders; ++i) {
    recipe.seed = static_cast<std::uint64_t>(5 + i);
    const Outcome one = train(folder, recipe);
    mean.accuracy += one.accuracy / kOrders;
    mean.ratio += one.ratio / kOrders;
  }
  return mean;
}

/// Momentum in the optimizer multiplies what arrives late; Deep Gradient Compression has it before what is sent is
/// chosen.
TEST(Convergence, DeepGradientKeepsMomentumAndErrorFeedbackDoesNot) {
  const auto folder = mnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST: set LOCKSTEP_TEST_DATA";
  constexpr double kRate = 0.05;
  constexpr double kMomentum = 0.9;
  const auto dense = mean_over_orders(folder, {all_reduce, kRate, kMomentum});
  EXPECT_GT(dense.accuracy, 0.9);
  // The authors send 0.001, which is 25 values here.
  for (const auto& of : {std::pair(0.002, 0.01), std::pair(0.001, 0.02)}) {
    const double fraction = of.first;
    const double bound = of.second;
    const auto deep = [&](const Group& g) { return deep_gradient_hook(g, {kMomentum, fraction, 100}); };
    const auto compressed = mean_over_orders(folder, {deep, kRate});
    const auto fed = [&](const Group& g) { return error_feedback(top_k_hook(g, fraction)); };
    const auto late = mean_over_orders(folder, {fed, kRate, kMomentum});
    std::printf(
        "momentum %.1f: dense %.4f, deep_gradient(%.3f) %.4f with %.1f times fewer bytes, top_k with error "
        "feedback %.4f\n",
        kMomentum, dense.accuracy, fraction, compressed.accuracy, compressed.ratio, late.accuracy);
    EXPECT_GE(compressed.accuracy, dense.accuracy - bound);
    EXPECT_GT(compressed.ratio, 20);  // the warm-up sends more
    EXPECT_LT(late.accuracy, dense.accuracy - 0.02);
  }
}

}  // namespace
}  // namespace lockstep
