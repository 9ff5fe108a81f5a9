// A sample of the data is spoilt, so that once an epoch a gradient is not a number on the rank that has it.
//   lockstep run -n 2 ./bad_data         all ranks pass over that update, and know the parameter and the rank
//   lockstep run -n 2 ./bad_data stop    all ranks stop, with an Error that names them
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

struct Spoilt : Circle {
  torch::data::Example<> get(std::size_t i) override {
    auto example = Circle::get(i);
    return {i == 1234 ? example.data * NAN : example.data, example.target};
  }
};

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[skip | stop]", 0, 1);
  const bool stop = one_of(words.empty() ? "skip" : words[0], {"skip", "stop"}) == "stop";
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  lockstep::DataParallelOptions options;
  options.non_finite = stop ? lockstep::NonFinite::kStop : lockstep::NonFinite::kSkip;
  lockstep::DataParallel replica(world, *net, options);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  lockstep::Metrics metrics(world, {"loss"});
  auto loader = lockstep::make_loader(Spoilt(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();  // does nothing where backward took the gradients away
      const auto& report = replica.report();
      if (!report.skipped) metrics.add("loss", loss.item<double>(), batch.samples);
      if (report.skipped && world.rank() == 0) {
        const auto& bad = report.non_finite.front();
        std::printf("passed over batch %lld: the gradient of %s on rank %d is not a number\n",
                    static_cast<long long>(loader->position().batch), bad.parameter.c_str(), bad.rank);
      }
    }
    const double mean_loss = metrics.reduce()[0].second;
    const double difference = apart(world, net->parameters());
    if (world.rank() == 0) std::printf("epoch %d loss %.4f apart %g\n", epoch, mean_loss, difference);
  }
} catch (const std::exception& error) {
  return failed(error);
}
