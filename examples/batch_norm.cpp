// Batch normalisation over the global batch: with 4 samples on each rank, statistics of a rank's own would be poor.
// Alone: ./batch_norm. On four ranks: lockstep run -n 4 ./batch_norm, with the same numbers.
// Where each rank normalises by what it sees, running statistics drift apart: ./batch_norm once. To bring them together
// after each backward: ./batch_norm mean, or ./batch_norm broadcast for rank 0's.
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "apart.h"
#include "arguments.h"

/// Waves of four frequencies, in noise.
struct Waves : torch::data::datasets::Dataset<Waves> {
  torch::Tensor noise = torch::randn({1024, 1, 32}) * 0.5;
  torch::data::Example<> get(std::size_t i) override {
    const auto index = static_cast<std::int64_t>(i);
    const auto label = index % 4;
    auto wave = torch::sin(torch::arange(32, torch::kFloat32) * (0.3 * static_cast<double>(1 + label)));
    return {wave.unsqueeze(0) + noise[index], torch::tensor(label)};
  }
  torch::optional<std::size_t> size() const override { return 1024; }
};

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[global | once | mean | broadcast]", 0, 1);
  const auto statistics = one_of(words.empty() ? "global" : words[0], {"global", "once", "mean", "broadcast"});
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Conv1d(torch::nn::Conv1dOptions(1, 8, 5)), torch::nn::BatchNorm1d(8),
                            torch::nn::ReLU(), torch::nn::Flatten(), torch::nn::Linear(8 * 28, 4));
  if (statistics == "global") lockstep::convert_sync_batch_norm(*net, world);  // before replica and optimizer are made
  lockstep::DataParallelOptions options;
  if (statistics == "mean") options.buffers = lockstep::BufferSync::kMean;
  if (statistics == "broadcast") options.buffers = lockstep::BufferSync::kBroadcast;
  lockstep::DataParallel replica(world, *net, options);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  lockstep::Metrics metrics(world, {"loss", "accuracy"});
  auto loader = lockstep::make_loader(Waves(), world, {.global_batch = 16, .seed = 7});
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const auto scores = net->forward(batch.data);
      const auto loss = torch::nn::functional::cross_entropy(scores, batch.target);
      loss.backward();
      optimizer.step();
      metrics.add("loss", loss.item<double>(), batch.samples);
      metrics.add("accuracy", scores.argmax(1).eq(batch.target).to(torch::kFloat64).mean().item<double>(),
                  batch.samples);
    }
    const auto means = metrics.reduce();
    const double difference = apart(world, net->buffers());
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f accuracy %.4f, statistics apart %g\n", epoch, means[0].second, means[1].second,
                difference);
  }
} catch (const std::exception& error) {
  return failed(error);
}
