#pragma once

#include "lab/sst2/distilbert_config.h"

#include <lockstep/sharded.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <vector>

namespace lockstep::lab {

/// Attention over all tokens of a sentence that are no padding.
class DistilBertAttentionImpl : public torch::nn::Module {
 public:
  explicit DistilBertAttentionImpl(const DistilBertConfig& config);
  /// {batch, time, width} and, to be added to scores, {batch, 1, 1, time}, to {batch, time, width}.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& bias);

 private:
  std::int64_t heads_;
  torch::nn::Dropout dropout_;
  torch::nn::Linear query_;
  torch::nn::Linear key_;
  torch::nn::Linear value_;
  torch::nn::Linear output_;
};
TORCH_MODULE(DistilBertAttention);

/// One post-norm layer: x = norm(x + attention(x)), then norm(x + feed_forward(x)).
class DistilBertLayerImpl : public torch::nn::Module {
 public:
  explicit DistilBertLayerImpl(const DistilBertConfig& config);
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& bias);

 private:
  DistilBertAttention attention_;
  torch::nn::LayerNorm attention_norm_;
  torch::nn::Linear expansion_ = nullptr;
  torch::nn::Linear projection_ = nullptr;
  torch::nn::Dropout dropout_ = nullptr;
  torch::nn::LayerNorm output_norm_;
};
TORCH_MODULE(DistilBertLayer);

/// DistilBERT (Sanh et al. 2019) that classifies sentences: embeddings of tokens and positions, layers, and the first
/// token's output through two linear layers. Its parameters have the names of Hugging Face's
/// DistilBertForSequenceClassification.
class DistilBertImpl : public torch::nn::Module {
 public:
  /// Initial weights are drawn from torch's generator as Hugging Face draws them. Each layer is a block of `sharded`,
  /// if there is one: the same on all ranks then, and construction is collective; attach() is left to the caller.
  explicit DistilBertImpl(const DistilBertConfig& config, Sharded* sharded = nullptr);

  /// Tokens {batch, time}, int64, and where they are no padding {batch, time}, bool, to logits {batch, labels}.
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& is_token);

  const DistilBertConfig& config() const { return config_; }

 private:
  DistilBertConfig config_;
  torch::nn::Embedding words_ = nullptr;
  torch::nn::Embedding positions_ = nullptr;
  torch::nn::LayerNorm embedding_norm_ = nullptr;
  torch::nn::Dropout dropout_ = nullptr;
  std::vector<torch::nn::AnyModule> layers_;
  torch::nn::Linear pre_classifier_;
  torch::nn::Linear classifier_;
  torch::nn::Dropout classifier_dropout_;
};
TORCH_MODULE(DistilBert);

}  // namespace lockstep::lab
