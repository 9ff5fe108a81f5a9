#include "lab/text/sample.h"

#include "lab/counter_random.h"

#include <torch/utils.h>

#include <algorithm>

namespace lockstep::lab {

namespace {

/// The token at which the probabilities, summed in order, pass `position` in [0, 1).
std::int32_t pick(const torch::Tensor& probabilities, double position) {
  const auto values = probabilities.accessor<double, 1>();
  double sum = 0;
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    sum += values[i];
    if (position < sum) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(values.size(0) - 1);  // rounding
}

}  // namespace

std::vector<std::int32_t> generate(Gpt& model, const std::vector<std::int32_t>& prompt, const SampleOptions& options) {
  const torch::NoGradGuard no_grad;
  model->eval();
  const CounterRandom random(options.seed, 0);
  std::vector<std::int64_t> text(prompt.begin(), prompt.end());
  const auto prompt_size = text.size();
  for (std::int64_t i = 0; i < options.length; ++i) {
    const auto seen = std::min(static_cast<std::int64_t>(text.size()), model->size().context);
    const torch::Tensor window = torch::from_blob(text.data() + text.size() - seen, {1, seen}, torch::kInt64);
    const torch::Tensor logits = model->forward(window)[0][-1].to(torch::kFloat64);
    if (options.temperature == 0) {
      text.push_back(logits.argmax().item<std::int64_t>());
    } else {
      const torch::Tensor probabilities = (logits / options.temperature).softmax(-1);
      text.push_back(pick(probabilities, random.uniform(static_cast<std::uint64_t>(i))));
    }
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(prompt_size), text.end()};
}

}  // namespace lockstep::lab
