// LARS and LAMB against loops that say what the papers say; on several ranks, and on slices of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/optim.h>

#include <cmath>
#include <sstream>

#include "train/test_model.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using Vector = std::vector<double>;

constexpr int kIterations = 10;
constexpr int kSize = 12;

/// Two parameters that differ a hundredfold in size, of float64 so that only mistakes make a difference.
std::vector<torch::Tensor> parameters() {
  return {torch::linspace(-1, 1.5, kSize, torch::kFloat64), torch::linspace(-100, 50, kSize, torch::kFloat64)};
}

/// A gradient that depends on iteration, element and value.
double gradient_of(double value, int iteration, int i) { return std::sin(0.3 * value + iteration) + 0.1 * i; }

Vector to_vector(const torch::Tensor& tensor) {
  return {tensor.data_ptr<double>(), tensor.data_ptr<double>() + tensor.numel()};
}

double norm(const Vector& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// Updates one parameter once: (w, g, state, iteration from 1).
using Reference = std::function<void(Vector& w, const Vector& g, std::vector<Vector>& state, int iteration)>;

/// The parameters after the loop, one after the other.
Vector reference_run(const Reference& update) {
  Vector all;
  for (const torch::Tensor& start : parameters()) {
    Vector w = to_vector(start), g(kSize);
    std::vector<Vector> state(2, Vector(kSize, 0.0));
    for (int iteration = 1; iteration <= kIterations; ++iteration) {
      for (int i = 0; i < kSize; ++i) g[i] = gradient_of(w[i], iteration, i);
      update(w, g, state, iteration);
    }
    all.insert(all.end(), w.begin(), w.end());
  }
  return all;
}

void give_gradients(const std::vector<torch::Tensor>& tensors, int iteration, int first = 0) {
  for (torch::Tensor tensor : tensors) {
    torch::Tensor gradient = torch::empty_like(tensor);
    for (std::int64_t i = 0; i < tensor.numel(); ++i)
      gradient[i] = gradient_of(tensor[i].item<double>(), iteration, first + static_cast<int>(i));
    tensor.mutable_grad() = gradient;
  }
}

Vector run(const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>& make) {
  const auto tensors = parameters();
  const auto optimizer = make(tensors);
  for (int iteration = 1; iteration <= kIterations; ++iteration) {
    give_gradients(tensors, iteration);
    optimizer->step();
  }
  return to_vector(torch::cat(tensors));
}

/// The largest difference, over the largest change.
double difference(const Vector& a, const Vector& b) {
  const Vector start = to_vector(torch::cat(parameters()));
  double most = 0, change = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    change = std::max(change, std::abs(b[i] - start[i]));
  }
  return most / change;
}

Reference lars(double decay_in_ratio) {
  return [decay_in_ratio](Vector& w, const Vector& g, std::vector<Vector>& state, int) {
    const double ratio = 0.01 * norm(w) / (norm(g) + decay_in_ratio * norm(w));
    for (int i = 0; i < kSize; ++i) {
      state[0][i] = 0.8 * state[0][i] + 2.0 * ratio * (g[i] + 0.05 * w[i]);
      w[i] -= state[0][i];
    }
  };
}

Reference lamb(bool corrects_bias) {
  return [corrects_bias](Vector& w, const Vector& g, std::vector<Vector>& state, int iteration) {
    Vector u(kSize);
    for (int i = 0; i < kSize; ++i) {
      state[0][i] = 0.8 * state[0][i] + 0.2 * g[i];
      state[1][i] = 0.95 * state[1][i] + 0.05 * g[i] * g[i];
      const double m = corrects_bias ? state[0][i] / (1 - std::pow(0.8, iteration)) : state[0][i];
      const double v = corrects_bias ? state[1][i] / (1 - std::pow(0.95, iteration)) : state[1][i];
      u[i] = m / (std::sqrt(v) + 1e-6) + 0.05 * w[i];
    }
    const double ratio = norm(w) / norm(u);
    for (int i = 0; i < kSize; ++i) w[i] -= 0.02 * ratio * u[i];
  };
}

LarsOptions lars_options() { return LarsOptions(2.0).momentum(0.8).weight_decay(0.05).trust(0.01); }
LambOptions lamb_options() { return LambOptions(0.02).beta1(0.8).beta2(0.95).weight_decay(0.05); }

template <class Optimizer, class Options>
auto making(const Options& options) {
  return [options](std::vector<torch::Tensor> tensors) {
    return std::make_unique<Optimizer>(std::move(tensors), options);
  };
}

TEST(LayerwiseOptimizer, LarsIsThePapers) {
  EXPECT_LE(difference(run(making<Lars>(lars_options())), reference_run(lars(0.05))), 1e-12);
  EXPECT_GT(difference(run(making<Lars>(lars_options())), reference_run(lars(0))), 1e-6) << "a planted mistake";
}

TEST(LayerwiseOptimizer, LambIsThePapers) {
  EXPECT_LE(difference(run(making<Lamb>(lamb_options())), reference_run(lamb(true))), 1e-12);
  EXPECT_GT(difference(run(making<Lamb>(lamb_options())), reference_run(lamb(false))), 1e-3) << "a planted mistake";
}

TEST(LayerwiseOptimizer, WithoutLayersTheyAreTheirPlainKin) {
  using namespace torch::optim;
  EXPECT_LE(difference(run(making<Lars>(lars_options().layerwise(false))),
                       run(making<SGD>(SGDOptions(2.0).momentum(0.8).weight_decay(0.05)))),
            1e-12);
  EXPECT_LE(difference(run(making<Lamb>(lamb_options().layerwise(false).weight_decay(0))),
                       run(making<Adam>(AdamOptions(0.02).betas({0.8, 0.95}).eps(1e-6)))),
            1e-12);
}

TEST(LayerwiseOptimizer, AParameterOfZerosMoves) {
  torch::Tensor zeros = torch::zeros(3), untouched = torch::ones(3);
  zeros.mutable_grad() = torch::ones(3);
  Lamb optimizer({zeros, untouched}, LambOptions(0.1));
  optimizer.step();
  EXPECT_TRUE(torch::allclose(zeros, torch::full(3, -0.1), 1e-4));
  EXPECT_TRUE(torch::equal(untouched, torch::ones(3))) << "it has no gradient";
}

/// Tensors cut over ranks, the last of which has nothing of them.
template <class Optimizer, class Options>
Vector run_on_slices(const Options& options, bool sums) {
  constexpr int kRanks = 3;
  std::vector<std::vector<torch::Tensor>> slices(kRanks);
  test::on_ranks(kRanks, [&](World& world) {
    const int first = world.rank() == 0 ? 0 : world.rank() == 1 ? 5 : kSize, last = world.rank() == 0 ? 5 : kSize;
    auto& mine = slices[static_cast<std::size_t>(world.rank())];
    for (const torch::Tensor& whole : parameters()) mine.push_back(whole.slice(0, first, last).clone());
    Optimizer optimizer(mine, options);
    if (sums) {
      optimizer.sum_norms_by([&world](torch::Tensor& squares) {
        world.all_reduce(buffer_of(squares.data_ptr<double>(), static_cast<std::size_t>(squares.numel()))).wait();
      });
    }
    for (int iteration = 1; iteration <= kIterations; ++iteration) {
      give_gradients(mine, iteration, first);
      optimizer.step();
    }
  });
  Vector all;
  for (std::size_t parameter = 0; parameter < 2; ++parameter) {
    const Vector part = to_vector(torch::cat({slices[0][parameter], slices[1][parameter], slices[2][parameter]}));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(LayerwiseOptimizer, OfSlicesScalesByTheNormOfTheWhole) {
  EXPECT_LE(difference(run_on_slices<Lamb>(lamb_options(), true), reference_run(lamb(true))), 1e-12);
  EXPECT_LE(difference(run_on_slices<Lars>(lars_options(), true), reference_run(lars(0.05))), 1e-12);
  EXPECT_GT(difference(run_on_slices<Lamb>(lamb_options(), false), reference_run(lamb(true))), 1e-3);
}

TEST(LayerwiseOptimizer, OfSlicesSumsOnceAStepAlsoWhereItHasNoGradient) {
  torch::Tensor moved = torch::ones(3), without = torch::ones(2);
  Lamb optimizer({without, moved}, LambOptions(0.1));
  std::vector<Vector> sums;
  optimizer.sum_norms_by([&sums](torch::Tensor& squares) { sums.push_back(to_vector(squares)); });
  optimizer.step();
  moved.mutable_grad() = torch::ones(3);
  optimizer.step();
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0], Vector(4, 0.0));
  EXPECT_EQ(sums[1][1], 0);
  EXPECT_EQ(sums[1][2], 3);
  EXPECT_GT(sums[1][3], 0);
  EXPECT_TRUE(optimizer.sum_norms_by(nullptr)) << "it says what was set";
}

TEST(LayerwiseOptimizer, OptionsThatMakeNoSenseAreRefused) {
  const auto refusal = [](const auto& make) -> std::string {
    try {
      make(parameters());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(making<Lars>(LarsOptions(-1))), HasSubstr("lr of this optimizer is -1"));
  EXPECT_THAT(refusal(making<Lars>(LarsOptions(1).momentum(-1))), HasSubstr("momentum"));
  EXPECT_THAT(refusal(making<Lars>(LarsOptions(1).weight_decay(-1))), HasSubstr("weight_decay"));
  EXPECT_THAT(refusal(making<Lars>(LarsOptions(1).trust(0))), HasSubstr("trust"));
  EXPECT_THAT(refusal(making<Lamb>(LambOptions(-1))), HasSubstr("lr"));
  EXPECT_THAT(refusal(making<Lamb>(LambOptions().beta1(1))), HasSubstr("beta1"));
  EXPECT_THAT(refusal(making<Lamb>(LambOptions().beta2(-1))), HasSubstr("beta2"));
  EXPECT_THAT(refusal(making<Lamb>(LambOptions().eps(-1))), HasSubstr("eps"));
  EXPECT_THAT(refusal(making<Lamb>(LambOptions().weight_decay(-1))), HasSubstr("weight_decay"));
}

TEST(LayerwiseOptimizer, TorchsArchivesAreRefused) {
  Lamb optimizer(parameters(), LambOptions());
  std::stringstream archive;
  const auto is_refused = testing::ThrowsMessage<Error>(HasSubstr("TrainingState::optimizer"));
  EXPECT_THAT([&] { torch::save(optimizer, archive); }, is_refused);
  torch::save(torch::optim::SGD(parameters(), 1), archive);
  EXPECT_THAT([&] { torch::load(optimizer, archive); }, is_refused);
}

/// The small network's change under LAMB with a learning rate schedule and a batch that grows by accumulation.
torch::Tensor train(const Group& group, std::uint64_t seed, bool synchronises = true) {
  const auto net = test::make_net(seed);
  DataParallel replica(group, *net);
  const auto start = test::flat_parameters(*net);
  Lamb optimizer(net->parameters(), LambOptions());
  const LearningRate rate{.peak = 2e-2, .warmup = 3, .decay = Decay::kPolynomial, .end = 14};
  const BatchWarmup batch{.first = 1, .last = 3, .iterations = 6};
  const auto loader = make_loader(test::Spots(28), group, {.global_batch = 7, .seed = 3});
  std::int64_t iteration = 1, micro = 0;
  while (iteration <= 12) {
    for (auto& example : loader->epoch()) {
      const std::int64_t parts = batch.at(iteration);
      const bool last = ++micro == parts;
      const auto loss = torch::nn::functional::cross_entropy(net->forward(example.data), example.target);
      if (last && synchronises) {
        (loss / parts).backward();
      } else {
        const auto quiet = replica.pause();
        (loss / parts).backward();
      }
      if (!last) continue;
      set_learning_rate(optimizer, rate.at(iteration));
      optimizer.step();
      optimizer.zero_grad();
      micro = 0;
      if (++iteration > 12) break;
    }
  }
  return test::flat_parameters(*net) - start;
}

class LambOn : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LambOn, testing::Values(1, 2, 3, 4));

TEST_P(LambOn, TrainsAsOneProcessDoesWhileTheBatchGrows) {
  at::set_num_threads(1);
  const auto expected = train(World::alone(), 1);
  test::on_ranks(GetParam(), [&](World& world) {
    const auto change = train(world, static_cast<std::uint64_t>(1 + world.rank()));
    EXPECT_LE(((change - expected).norm() / expected.norm()).item<double>(), 1e-4);
  });
}

TEST(LambOnTwo, TrainsElsewhereIfItsGradientsAreNotSynchronised) {
  at::set_num_threads(1);
  const auto expected = train(World::alone(), 1);
  test::on_ranks(2, [&](World& world) {
    EXPECT_GT(((train(world, 1, false) - expected).norm() / expected.norm()).item<double>(), 1e-2);
  });
}

}  // namespace
}  // namespace lockstep
