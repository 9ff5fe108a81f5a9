#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

namespace lockstep::lab {

/// The size of a GPT.
struct GptSize {
  std::int64_t vocabulary = 256;
  std::int64_t layers = 4;
  std::int64_t heads = 4;     ///< must divide width
  std::int64_t width = 128;   ///< of the residual stream
  std::int64_t context = 64;  ///< tokens that one position can look back on, itself included
  double dropout = 0;
};

/// Number of trained values of a model of this size.
std::int64_t parameter_count(const GptSize& size);

/// Every position attends to itself and those before it.
class CausalSelfAttentionImpl : public torch::nn::Module {
 public:
  explicit CausalSelfAttentionImpl(const GptSize& size);
  /// {batch, time, width} to the same.
  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::int64_t heads_;
  torch::nn::Linear query_key_value_;
  torch::nn::Linear projection_;
  torch::nn::Dropout attention_dropout_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(CausalSelfAttention);

/// One pre-norm layer: x + attention(norm(x)), then x + mlp(norm(x)).
class GptBlockImpl : public torch::nn::Module {
 public:
  explicit GptBlockImpl(const GptSize& size);
  torch::Tensor forward(torch::Tensor x);

 private:
  torch::nn::LayerNorm attention_norm_;
  CausalSelfAttention attention_;
  torch::nn::LayerNorm mlp_norm_;
  torch::nn::Sequential mlp_;
};
TORCH_MODULE(GptBlock);

/// A decoder-only transformer with learned positions and one matrix for reading and predicting tokens (Radford et al.,
/// 2019; sizes, biases and initial weights as in nanoGPT).
class GptImpl : public torch::nn::Module {
 public:
  /// The initial weights depend on `seed` only, not on torch's global generator.
  GptImpl(const GptSize& size, std::uint64_t seed);

  /// Tokens {batch, time}, int64, time at most the context, to logits {batch, time, vocabulary}.
  torch::Tensor forward(const torch::Tensor& tokens);
  /// Mean cross-entropy in nats of `targets`, the tokens that follow `tokens`; both {batch, time}, int64.
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets);

  const GptSize& size() const { return size_; }

 private:
  void initialise(std::uint64_t seed);

  GptSize size_;
  torch::nn::Embedding token_embedding_;
  torch::nn::Embedding position_embedding_;
  torch::nn::Dropout dropout_;
  torch::nn::Sequential blocks_;
  torch::nn::LayerNorm norm_;
};
TORCH_MODULE(Gpt);

}  // namespace lockstep::lab
