// Texts of unequal length: batches of similar ones, fetched ahead by two threads, with shares by the ranks' measured
// speeds. Alone: ./sentences. On three ranks: lockstep run -n 3 ./sentences, with the same losses; or with shares by
// hand, of which rank 0 has half: lockstep run -n 3 ./sentences 2 1 1
#include <lockstep/train.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>

#include "arguments.h"

/// Sentences of 2 to 41 words out of 49, whose class is whether most words are of the first half.
struct Sentences : torch::data::datasets::Dataset<Sentences> {
  torch::Tensor words = torch::randint(1, 50, {1024, 41});
  static std::int64_t length(std::int64_t index) { return 2 + index * 7 % 40; }
  torch::data::Example<> get(std::size_t i) override {
    const auto index = static_cast<std::int64_t>(i);
    const auto sentence = words[index].narrow(0, 0, length(index));
    return {sentence, (sentence < 25).to(torch::kFloat32).mean().gt(0.5).to(torch::kInt64)};
  }
  torch::optional<std::size_t> size() const override { return 1024; }
};

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[SHARE...]", 0, 1024);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(50, 16).padding_idx(0));
  torch::nn::Linear output(16, 2);
  torch::nn::Sequential net(embedding, output);
  lockstep::DataParallel replica(world, *net);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.3).momentum(0.9));
  lockstep::Metrics metrics(world, {"loss", "padding"});
  lockstep::LoaderOptions options{.global_batch = 32, .seed = 7, .workers = 2};
  for (const auto& word : words) options.shares.push_back(static_cast<double>(whole_number(word, "SHARE", 1, 1000)));
  for (std::int64_t i = 0; i < 1024; ++i) options.lengths.push_back(Sentences::length(i));
  auto loader = lockstep::make_loader(Sentences().map(lockstep::Pad(0)), world, options);
  for (int epoch = 1; epoch <= 6; ++epoch) {
    std::chrono::duration<double> computing(0);
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const auto start = std::chrono::steady_clock::now();
      const auto there = lockstep::padding_mask(batch.lengths).logical_not().unsqueeze(2).to(torch::kFloat32);
      const auto mean = (embedding->forward(batch.data) * there).sum(1) / there.sum(1);
      const auto loss = torch::nn::functional::cross_entropy(output->forward(mean), batch.target);
      loss.backward();
      computing += std::chrono::steady_clock::now() - start;
      computing -= std::chrono::duration<double, std::milli>(replica.report().exposed_ms);
      optimizer.step();
      metrics.add("loss", loss.item<double>(), batch.samples);
      metrics.add("padding", 1 - there.mean().item<double>(), batch.samples);
    }
    const double share = loader->shares()[0];
    if (words.empty()) loader->balance(computing.count());
    const auto means = metrics.reduce();
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f padding %.4f, rank 0 had a share of %.2f\n", epoch, means[0].second,
                means[1].second, share);
  }
} catch (const std::exception& error) {
  return failed(error);
}
