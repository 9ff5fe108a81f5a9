#pragma once

#include "lab/classifier/task.h"

#include <cstdint>

namespace lockstep::lab {

/// What a classifier is worth.
struct Evaluation {
  double loss = 0;  ///< mean cross entropy in nats
  std::int64_t correct = 0;
  std::int64_t examples = 0;

  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(examples); }
};

/// Of `model`, over all of `loader`'s examples, each counted once. The same on every rank. Leaves the model in training
/// mode. Collective.
Evaluation evaluate(const Group& group, ClassifierTask& task, torch::nn::Module& model, Loader& loader);

/// The mean cross entropy of logits {samples, classes} and the samples' labels, in float32.
torch::Tensor classification_loss(const torch::Tensor& logits, const torch::Tensor& labels);

/// Samples whose largest logit is their label's.
std::int64_t count_correct(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace lockstep::lab
