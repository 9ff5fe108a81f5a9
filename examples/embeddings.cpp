// A table of 20,000 words, of which a batch has few: its gradient is sparse, and ranks send each other the rows that
// were used. Alone: ./embeddings. On four ranks: lockstep run -n 4 ./embeddings, with the same losses.
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "apart.h"
#include "arguments.h"

constexpr std::int64_t kWords = 20000;

/// Sentences of three words, which are odd or even; what is a sentence mostly?
struct Sentences : torch::data::datasets::Dataset<Sentences> {
  torch::Tensor words = (torch::rand({8192, 3}).pow(4) * kWords).to(torch::kInt64);  // some are more common than others
  torch::data::Example<> get(std::size_t i) override {
    const auto sentence = words[static_cast<std::int64_t>(i)];
    return {sentence, (sentence % 2).sum().gt(1).to(torch::kInt64)};
  }
  torch::optional<std::size_t> size() const override { return 8192; }
};

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::EmbeddingBag table(torch::nn::EmbeddingBagOptions(kWords, 8).mode(torch::kMean).sparse(true));
  torch::nn::Sequential net(table, torch::nn::Linear(8, 2));
  lockstep::DataParallel replica(world, *net);
  torch::optim::Adagrad optimizer(net->parameters(), 0.5);  // or SGD: Adam takes no sparse gradients
  lockstep::Metrics metrics(world, {"loss", "bytes"});
  auto loader = lockstep::make_loader(Sentences(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      metrics.add("loss", loss.item<double>(), batch.samples);
      metrics.add("bytes", static_cast<double>(replica.report().bytes), 1);
    }
    const auto means = metrics.reduce();
    const double difference = apart(world, net->parameters());
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f apart %g, a gradient of %.0f bytes instead of %zu\n", epoch, means[0].second,
                difference, means[1].second, table->weight.nbytes());
  }
} catch (const std::exception& error) {
  return failed(error);
}
