// Training on MNIST with each hook ends where training without one does, within the bound that is stated here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/hooks.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "train/test_model.h"

namespace lockstep {
namespace {

/// The bytes of a gzipped idx file after its header.
torch::Tensor idx_bytes(const std::filesystem::path& path, std::int64_t header, std::int64_t bytes) {
  auto content = torch::empty({header + bytes}, torch::kUInt8);
  gzFile file = gzopen(path.c_str(), "rb");
  const int read = file ? gzread(file, content.data_ptr(), static_cast<unsigned>(header + bytes)) : -1;
  if (file) gzclose(file);
  if (read != header + bytes) throw std::runtime_error(path.string() + " is shorter than MNIST, or cannot be read");
  return content.narrow(0, header, bytes);
}

struct Digits : torch::data::datasets::Dataset<Digits> {
  Digits(const std::filesystem::path& folder, const std::string& which, std::int64_t count)
      : images((idx_bytes(folder / (which + "-images-idx3-ubyte.gz"), 16, count * 784).to(torch::kFloat32) / 255 -
                0.1307) /
               0.3081),
        labels(idx_bytes(folder / (which + "-labels-idx1-ubyte.gz"), 8, count).to(torch::kInt64)) {
    images = images.view({count, 784});
  }
  torch::data::Example<> get(std::size_t i) override {
    return {images[static_cast<std::int64_t>(i)], labels[static_cast<std::int64_t>(i)]};
  }
  torch::optional<std::size_t> size() const override { return labels.numel(); }
  torch::Tensor images;
  torch::Tensor labels;
};

using MakeHook = std::function<BucketHookPtr(const Group&)>;
constexpr int kRanks = 2;

struct Outcome {
  double accuracy = 0;
  double ratio = 1;
};

/// One epoch of 25,600 samples in batches of 64, and the accuracy on 10,000 others.
Outcome train(const std::filesystem::path& folder, const MakeHook& make) {
  const Digits training(folder, "train", 25600);
  const Digits test(folder, "t10k", 10000);
  Outcome outcome;
  test::on_ranks(kRanks, [&](World& world) {
    auto net = test::seeded(1, [] {
      return torch::nn::Sequential(torch::nn::Linear(784, 32), torch::nn::ReLU(), torch::nn::Linear(32, 10));
    });
    const auto hook = make(world);
    const DataParallel replica(world, *net, {.communication_hook = use(hook)});
    torch::optim::SGD optimizer(net->parameters(), 0.05);
    const auto loader = make_loader(training, world, {.global_batch = 64, .seed = 5});
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
      optimizer.step();
    }
    if (world.rank() != 0) return;
    torch::NoGradGuard no_grad;
    const auto guesses = net->forward(test.images).argmax(1);
    outcome = {guesses.eq(test.labels).to(torch::kFloat64).mean().item<double>(), hook->traffic().ratio()};
  });
  return outcome;
}

/// MNIST's folder; empty where it is absent.
std::filesystem::path mnist() {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const auto folder = std::filesystem::path(data ? data : "") / "mnist";
  return std::filesystem::exists(folder / "train-images-idx3-ubyte.gz") ? folder : std::filesystem::path();
}

struct Case {
  const char* name;
  MakeHook make;
  double bound;  ///< of accuracy lost against training without compression
};

class Convergence : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Mnist, Convergence,
    ::testing::Values(
        Case{"Float16", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); }, 0.005},
        Case{"Bfloat16", [](const Group& g) { return cast_hook(torch::kBFloat16, all_reduce_hook(g)); }, 0.005},
        Case{"Int8", [](const Group& g) { return int8_hook(g); }, 0.005},
        Case{"Sign", [](const Group& g) { return error_feedback(sign_hook(g)); }, 0.01},
        Case{"TopK", [](const Group& g) { return error_feedback(top_k_hook(g, 0.01)); }, 0.01},
        Case{"RandomK", [](const Group& g) { return error_feedback(random_k_hook(0.1, 7, all_reduce_hook(g))); }, 0.01},
        Case{"PowerSgd", [](const Group& g) { return error_feedback(power_sgd_hook(g, 2, 7)); }, 0.01}),
    [](const auto& test) { return test.param.name; });

TEST_P(Convergence, LosesNoMoreThanItsBound) {
  const auto folder = mnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST: set LOCKSTEP_TEST_DATA";
  const auto dense = train(folder, [](const Group& g) { return all_reduce_hook(g); });
  const auto compressed = train(folder, GetParam().make);
  std::printf("%s: accuracy %.4f, dense %.4f, %.1f times fewer bytes on %d ranks\n", GetParam().name,
              compressed.accuracy, dense.accuracy, compressed.ratio, kRanks);
  EXPECT_GT(dense.accuracy, 0.9);
  EXPECT_GE(compressed.accuracy, dense.accuracy - GetParam().bound);
  EXPECT_GT(compressed.ratio, 1.9);
}

/// A hook that loses everything but the largest gradients, and does not remember what it lost.
TEST(Convergence, BoundFailsWithoutErrorFeedback) {
  const auto folder = mnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST: set LOCKSTEP_TEST_DATA";
  const auto dense = train(folder, [](const Group& g) { return all_reduce_hook(g); });
  const auto forgetful = train(folder, [](const Group& g) { return top_k_hook(g, 0.001); });
  const auto fed = train(folder, [](const Group& g) { return error_feedback(top_k_hook(g, 0.001)); });
  std::printf("top_k(0.001): accuracy %.4f, with error feedback %.4f, dense %.4f\n", forgetful.accuracy, fed.accuracy,
              dense.accuracy);
  EXPECT_LT(forgetful.accuracy, dense.accuracy - 0.02);
  EXPECT_GT(fed.accuracy, forgetful.accuracy);
}

}  // namespace
}  // namespace lockstep
