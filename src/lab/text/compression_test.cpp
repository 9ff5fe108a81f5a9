// A GPT learns Shakespeare with each hook as well as without one, within the bound that is stated here; and beyond it
// with hooks that forget what they lost, or give too little.
#include "lab/text/data.h"
#include "lab/text/evaluation.h"
#include "lab/text/options.h"
#include "train/test_model.h"

#include <gtest/gtest.h>
#include <lockstep/one_bit_adam.h>
#include <torch/nn/utils/clip_grad.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

namespace lockstep::lab {

namespace {

using torch::optim::AdamOptions;
using torch::optim::SGDOptions;
using MakeHook = std::function<BucketHookPtr(const Group&)>;

/// Of nats a character, against training without compression.
constexpr double kBoundOfRounding = 0.01;
constexpr double kBound = 0.03;
constexpr double kBoundOfDeepGradient = 0.15;  // a sixth of whose iterations are the warm-up

struct Text {
  std::int64_t vocabulary;
  TextData data;
};

std::filesystem::path file_of_text() {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  return std::filesystem::path(data ? data : "") / "tinyshakespeare" / "input.txt";
}

TextSettings small_settings(double learning_rate) {
  TextSettings settings;
  settings.model = {.layers = 2, .heads = 2, .width = 32, .context = 32, .dropout = 0};
  settings.batch = 8;
  settings.iterations = 300;
  settings.learning_rate = learning_rate;
  return settings;
}

const Text& shakespeare_of(const TextSettings& settings) {
  static const Text text = [&] {
    const std::string content = read_text({file_of_text()});
    const Vocabulary vocabulary(TokenKind::kCharacters, content);
    return Text{vocabulary.size(), TextData(vocabulary.encode(content), settings.model.context)};
  }();
  return text;
}

struct Trainer {
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  CommunicationHook hook;
  double clip = 0;  ///< of what the hook gives; 0: none
};
using MakeTrainer = std::function<Trainer(const Group&, const std::vector<torch::Tensor>& parameters)>;

/// The loss of two ranks on text held back, by the lab's schedule.
double loss_after(double learning_rate, const MakeTrainer& make) {
  TextSettings settings = small_settings(learning_rate);
  const Text& text = shakespeare_of(settings);
  settings.model.vocabulary = text.vocabulary;
  const auto& training = text.data.training;
  const auto& validation = text.data.validation;
  const std::int64_t context = settings.model.context;
  double loss = 0;
  test::on_ranks(2, [&](World& world) {
    Gpt model(settings.model, settings.seed);
    const auto parameters = model->parameters();
    const Trainer trainer = make(world, parameters);
    const DataParallel replica(world, *model, {.communication_hook = trainer.hook});
    const Slice share = slice_of(settings.batch, world.rank(), world.size());
    for (std::int64_t iteration = 1; iteration <= settings.iterations; ++iteration) {
      const auto starts =
          random_starts(settings.seed, iteration, settings.batch, static_cast<std::int64_t>(training.size()) - context);
      const auto batch = windows_at(training, {starts.begin() + share.begin, starts.begin() + share.end}, context);
      set_learning_rate(*trainer.optimizer, settings.schedule().at(iteration));
      trainer.optimizer->zero_grad();
      model->loss(batch.tokens, batch.targets).backward();
      if (trainer.clip > 0) torch::nn::utils::clip_grad_norm_(parameters, trainer.clip);
      trainer.optimizer->step();
    }
    const auto starts = even_starts(512, static_cast<std::int64_t>(validation.size()), context);
    const double mean = mean_loss(world, model, validation, starts);
    if (world.rank() == 0) loss = mean;
  });
  return loss;
}

MakeTrainer sgd(const MakeHook& make, double momentum = 0, double clip = 1) {
  return [=](const Group& group, const std::vector<torch::Tensor>& parameters) {
    return Trainer{std::make_unique<torch::optim::SGD>(parameters, SGDOptions(1).momentum(momentum)), use(make(group)),
                   clip};
  };
}

constexpr double kSgdRate = 0.5;

/// Once for all tests of a process.
double dense_loss() {
  static const double loss = loss_after(kSgdRate, sgd(all_reduce_hook));
  return loss;
}

struct TextCase {
  const char* name;
  MakeHook make;
  double bound = kBound;
};

void PrintTo(const TextCase& of, std::ostream* out) { *out << of.name; }

class OnText : public testing::TestWithParam<TextCase> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(file_of_text())) GTEST_SKIP() << "no tinyshakespeare: set LOCKSTEP_TEST_DATA";
  }
  static double lost() {
    const double loss = loss_after(kSgdRate, sgd(GetParam().make));
    std::printf("%s: %.4f nats a character, dense %.4f\n", GetParam().name, loss, dense_loss());
    return loss - dense_loss();
  }
};

std::string name_of(const testing::TestParamInfo<TextCase>& test) { return test.param.name; }

/// Gives half the mean.
class Halving : public BucketHook {
 public:
  explicit Halving(BucketHookPtr next) : next_(std::move(next)) {}
  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) override {
    bucket.flat.view(-1).mul_(0.5);
    return next_->reduce(bucket, contribution);
  }
  bool exact() const override { return false; }
  std::string name() const override { return "halving"; }
  HookTraffic traffic() const override { return next_->traffic(); }

 private:
  BucketHookPtr next_;
};

class Compressed : public OnText {};
INSTANTIATE_TEST_SUITE_P(
    Hooks, Compressed,
    testing::Values(
        TextCase{"Float16", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); },
                 kBoundOfRounding},
        TextCase{"Bfloat16", [](const Group& g) { return cast_hook(torch::kBFloat16, all_reduce_hook(g)); },
                 kBoundOfRounding},
        TextCase{"Int8", [](const Group& g) { return int8_hook(g); }, kBoundOfRounding},
        TextCase{"Sign", [](const Group& g) { return error_feedback(sign_hook(g)); }},
        TextCase{"Qsgd", [](const Group& g) { return qsgd_hook(g, 7, 7); }},
        TextCase{"TopK", [](const Group& g) { return error_feedback(top_k_hook(g, 0.02)); }},
        TextCase{"Threshold", [](const Group& g) { return error_feedback(threshold_hook(g, 0.01)); }},
        TextCase{"AdaptiveThreshold", [](const Group& g) { return error_feedback(adaptive_threshold_hook(g, 0.02)); }},
        TextCase{"RandomK", [](const Group& g) { return error_feedback(random_k_hook(0.25, 7, all_reduce_hook(g))); }},
        TextCase{"PowerSgd", [](const Group& g) { return error_feedback(power_sgd_hook(g, 2, 7)); }}),
    name_of);

TEST_P(Compressed, TextIsLearntWithinTheBound) {
  EXPECT_LE(lost(), GetParam().bound);
  EXPECT_LT(dense_loss(), 2.65);  // it begins at log(65) = 4.17; the frequencies of characters alone give 3.3
}

class Broken : public OnText {};
INSTANTIATE_TEST_SUITE_P(
    Hooks, Broken,
    testing::Values(TextCase{"HalvedFloat16",
                             [](const Group& g) {
                               return std::make_shared<Halving>(cast_hook(torch::kFloat16, all_reduce_hook(g)));
                             }},
                    TextCase{"SignAlone", [](const Group& g) { return sign_hook(g); }},
                    TextCase{"TopKAlone", [](const Group& g) { return top_k_hook(g, 0.02); }},
                    TextCase{"ThresholdAlone", [](const Group& g) { return threshold_hook(g, 0.01); }},
                    TextCase{"RandomKAlone", [](const Group& g) { return random_k_hook(0.25, 7, all_reduce_hook(g)); }},
                    TextCase{"PowerSgdAlone", [](const Group& g) { return power_sgd_hook(g, 2, 7); }}),
    name_of);

/// By the widest bound of the hooks above.
TEST_P(Broken, TextIsNotLearntWithinIt) { EXPECT_GT(lost(), 1.5 * kBound); }

using OptimizersOnText = OnText;

TEST_F(OptimizersOnText, DeepGradientLearnsAsMomentumDoes) {
  constexpr double kRate = 0.1;
  constexpr double kMomentum = 0.9;
  constexpr double kFraction = 0.01;
  const double dense = loss_after(kRate, sgd(all_reduce_hook, kMomentum));
  const auto deep = [](const Group& g) { return deep_gradient_hook(g, {kMomentum, kFraction, 50, /*clip_norm=*/1}); };
  const double compressed = loss_after(kRate, sgd(deep, 0, 0));
  const auto fed = [](const Group& g) { return error_feedback(top_k_hook(g, kFraction)); };
  const double late = loss_after(kRate, sgd(fed, kMomentum));
  std::printf("momentum %.1f: dense %.4f, deep_gradient %.4f, top_k with late momentum %.4f\n", kMomentum, dense,
              compressed, late);
  EXPECT_LT(dense, 2.65);
  EXPECT_LE(compressed, dense + kBoundOfDeepGradient);
  EXPECT_GT(late, dense + 1.3 * kBoundOfDeepGradient) << "the bound sees momentum that comes after the choice";
}

TEST_F(OptimizersOnText, OneBitAdamLearnsAsAdamDoes) {
  const auto loss_with = [](std::int64_t warmup) {
    return loss_after(3e-3, [&](const Group& group, const std::vector<torch::Tensor>& parameters) {
      auto adam = std::make_unique<OneBitAdam>(group, parameters, AdamOptions(), OneBitAdamOptions{warmup});
      const auto hook = adam->communication_hook();
      return Trainer{std::move(adam), hook};
    });
  };
  const double adam = loss_with(1000);
  const double compressed = loss_with(60);
  const double too_early = loss_with(10);
  std::printf("one_bit_adam: %.4f, Adam %.4f, with a warm-up of 10 iterations %.4f\n", compressed, adam, too_early);
  EXPECT_LT(adam, 2.65);
  EXPECT_LE(compressed, adam + kBound);
  EXPECT_GT(too_early, adam + 2 * kBound) << "the bound sees a variance that was frozen too early";
}

}  // namespace

}  // namespace lockstep::lab
