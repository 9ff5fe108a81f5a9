#pragma once

/// What the tests of this folder train.

#include <lockstep/train.h>
#include <torch/torch.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::test {

/// run_threads with one computing thread a rank.
inline void on_ranks(int ranks, const std::function<void(World&)>& f) {
  run_threads(ranks, [&f](World& world) {
    at::set_num_threads(1);
    f(world);
  });
}

/// Named parameters that take the shapes given; with the loss sum(p * x), the gradient of p is x.
struct Vectors : torch::nn::Module {
  explicit Vectors(const std::vector<std::string>& names, std::int64_t count = 4) {
    for (const auto& name : names) register_parameter(name, torch::zeros(count));
  }
  torch::Tensor operator[](const std::string& name) { return named_parameters()[name]; }
  /// Its backward gives each of `names` the gradient `value` in all elements.
  torch::Tensor loss(const std::vector<std::string>& names, double value) {
    torch::Tensor total = torch::zeros({}, torch::requires_grad());
    for (const auto& name : names) total = total + (*this)[name].sum() * value;
    return total;
  }
  /// The gradient's first element; none if undefined.
  std::optional<double> gradient(const std::string& name) {
    const auto& gradient = (*this)[name].grad();
    return gradient.defined() ? std::optional(gradient.flatten()[0].item<double>()) : std::nullopt;
  }
};

inline void clear_gradients(torch::nn::Module& module) {
  for (auto& parameter : module.parameters()) parameter.mutable_grad() = torch::Tensor();
}

/// Names in the buckets of the last backward, in slot order.
inline std::vector<std::vector<std::string>> buckets_of(const DataParallel& replica) {
  std::vector<std::vector<std::string>> result;
  for (const auto& bucket : replica.report().buckets) result.push_back(bucket.parameters);
  return result;
}

/// A small network with the usual parts: a convolution, a normalisation, two linear layers.
struct SmallNet : torch::nn::Module {
  SmallNet()
      : convolution(register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3)))),
        normalisation(register_module("normalisation", torch::nn::LayerNorm(torch::nn::LayerNormOptions({64})))),
        hidden(register_module("hidden", torch::nn::Linear(64, 32))),
        output(register_module("output", torch::nn::Linear(32, 3))) {}
  torch::Tensor forward(const torch::Tensor& images) {
    const auto features = torch::gelu(convolution(images)).flatten(1);
    return output(torch::tanh(hidden(normalisation(features))));
  }
  torch::nn::Conv2d convolution;
  torch::nn::LayerNorm normalisation;
  torch::nn::Linear hidden;
  torch::nn::Linear output;
};

/// Torch's generator is one for all threads: ranks that are threads take turns with it.
template <class Make>
auto seeded(std::uint64_t seed, const Make& make) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  torch::manual_seed(seed);
  return make();
}

inline std::shared_ptr<SmallNet> make_net(std::uint64_t seed) {
  return seeded(seed, [] { return std::make_shared<SmallNet>(); });
}

/// Images of 6 by 6 whose class is where the bright spot is: sample i depends on i only.
class Spots : public torch::data::datasets::Dataset<Spots> {
 public:
  explicit Spots(std::size_t size) : size_(size) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<double>(index);
    auto image = torch::sin(torch::arange(36, torch::kFloat32) * (1 + i) + i).reshape({1, 6, 6});
    const auto label = static_cast<std::int64_t>(index * 7 % 3);
    image.select(1, 2 * label) += 1.5;
    return {image, torch::tensor(label)};
  }
  torch::optional<std::size_t> size() const override { return size_; }

 private:
  std::size_t size_;
};

inline torch::Tensor flat_parameters(const torch::nn::Module& module) {
  std::vector<torch::Tensor> parts;
  for (const auto& parameter : module.parameters()) parts.push_back(parameter.detach().flatten());
  return torch::cat(parts);
}

/// Epochs of batches of 14, 14, 14 and 3 samples: the last one leaves a rank of four without any.
inline Spots spots() { return Spots(45); }
inline LoaderOptions spots_options() { return {.global_batch = 14, .seed = 3}; }

/// Trains for 20 iterations and returns the change of the parameters.
inline torch::Tensor train_small_net(SmallNet& net, const Group& group) {
  constexpr int kIterations = 20;
  const auto start = flat_parameters(net);
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto loader = make_loader(spots(), group, spots_options());
  for (int iteration = 0; iteration < kIterations;) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(net.forward(batch.data), batch.target).backward();
      optimizer.step();
      if (++iteration == kIterations) break;
    }
  }
  return flat_parameters(net) - start;
}

}  // namespace lockstep::test
