#include "lab/classifier/evaluation.h"

#include <torch/nn/functional/loss.h>
#include <torch/utils.h>

#include <array>

namespace lockstep::lab {

torch::Tensor classification_loss(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits.to(torch::kFloat32), labels);
}

std::int64_t count_correct(const torch::Tensor& logits, const torch::Tensor& labels) {
  return logits.argmax(1).eq(labels).sum().item<std::int64_t>();
}

Evaluation evaluate(const Group& group, ClassifierTask& task, torch::nn::Module& model, Loader& loader) {
  const torch::NoGradGuard no_grad;
  model.eval();
  std::array<double, 3> sums{};  // of losses, of correct ones, of all
  for (const Batch& batch : loader.epoch()) {
    const torch::Tensor logits = task.logits(batch);
    if (batch.samples == 0) continue;  // a stand-in for none
    const auto samples = static_cast<double>(batch.samples);
    sums[0] += classification_loss(logits, batch.target).item<double>() * samples;
    sums[1] += static_cast<double>(count_correct(logits, batch.target));
    sums[2] += samples;
  }
  model.train();
  group.all_reduce(buffer_of(sums.data(), sums.size()), ReduceOp::kSum, {.purpose = "evaluation"}).wait();
  return {sums[0] / sums[2], static_cast<std::int64_t>(sums[1]), static_cast<std::int64_t>(sums[2])};
}

}  // namespace lockstep::lab
