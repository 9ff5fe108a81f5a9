#include "lab/text/gpt.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <string>

namespace lockstep::lab {

namespace {

constexpr double kInitialDeviation = 0.02;

torch::nn::Linear linear(std::int64_t in, std::int64_t out) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
}

torch::nn::LayerNorm layer_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::int64_t parameter_count(const GptSize& size) {
  const std::int64_t norm = 2 * size.width;
  const std::int64_t block = 12 * size.width * size.width + 2 * norm;  // attention 4, mlp 8
  return (size.vocabulary + size.context) * size.width + size.layers * block + norm;
}

CausalSelfAttentionImpl::CausalSelfAttentionImpl(const GptSize& size)
    : heads_(size.heads),
      query_key_value_(register_module("query_key_value", linear(size.width, 3 * size.width))),
      projection_(register_module("projection", linear(size.width, size.width))),
      attention_dropout_(register_module("attention_dropout", torch::nn::Dropout(size.dropout))),
      dropout_(register_module("dropout", torch::nn::Dropout(size.dropout))) {}

torch::Tensor CausalSelfAttentionImpl::forward(const torch::Tensor& x) {
  const std::int64_t batch = x.size(0), time = x.size(1), width = x.size(2), head_width = width / heads_;
  // {3, batch * heads, time, head width}
  const torch::Tensor parts = query_key_value_(x)
                                  .view({batch, time, 3, heads_, head_width})
                                  .permute({2, 0, 3, 1, 4})
                                  .reshape({3, batch * heads_, time, head_width});
  const torch::Tensor query = parts[0], key = parts[1], value = parts[2];
  // Written out: the fused attention of newer versions is not in all that we support, and a context is short here.
  const torch::Tensor future = torch::full({time, time}, -std::numeric_limits<float>::infinity(), x.options()).triu(1);
  const torch::Tensor scores = torch::baddbmm(future, query, key.transpose(1, 2), 1, 1 / std::sqrt(head_width));
  const torch::Tensor attended = torch::bmm(attention_dropout_(scores.softmax(-1)), value);
  return dropout_(
      projection_(attended.view({batch, heads_, time, head_width}).transpose(1, 2).reshape({batch, time, width})));
}

GptBlockImpl::GptBlockImpl(const GptSize& size)
    : attention_norm_(register_module("attention_norm", layer_norm(size.width))),
      attention_(register_module("attention", CausalSelfAttention(size))),
      mlp_norm_(register_module("mlp_norm", layer_norm(size.width))),
      mlp_(register_module("mlp", torch::nn::Sequential())) {
  mlp_->push_back("expansion", linear(size.width, 4 * size.width));
  mlp_->push_back("gelu", torch::nn::GELU());
  mlp_->push_back("projection", linear(4 * size.width, size.width));
  mlp_->push_back("dropout", torch::nn::Dropout(size.dropout));
}

torch::Tensor GptBlockImpl::forward(torch::Tensor x) {
  x = x + attention_(attention_norm_(x));
  return x + mlp_->forward(mlp_norm_(x));
}

GptImpl::GptImpl(const GptSize& size, std::uint64_t seed)
    : size_(size),
      token_embedding_(register_module("token_embedding", torch::nn::Embedding(size.vocabulary, size.width))),
      position_embedding_(register_module("position_embedding", torch::nn::Embedding(size.context, size.width))),
      dropout_(register_module("dropout", torch::nn::Dropout(size.dropout))),
      blocks_(register_module("blocks", torch::nn::Sequential())),
      norm_(register_module("norm", layer_norm(size.width))) {
  for (std::int64_t i = 0; i < size.layers; ++i) blocks_->push_back(GptBlock(size));
  initialise(seed);
}

void GptImpl::initialise(std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  // Each layer adds to the residual stream twice; so its variance does not grow with depth.
  const double residual_deviation = kInitialDeviation / std::sqrt(2 * static_cast<double>(size_.layers));
  for (auto& parameter : named_parameters()) {
    if (parameter.value().dim() < 2) continue;  // norms begin as the identity
    const bool residual = ends_with(parameter.key(), "projection.weight");
    parameter.value().normal_(0, residual ? residual_deviation : kInitialDeviation, generator);
  }
}

torch::Tensor GptImpl::forward(const torch::Tensor& tokens) {
  const torch::Tensor positions = torch::arange(tokens.size(1), tokens.options());
  torch::Tensor x = dropout_(token_embedding_(tokens) + position_embedding_(positions));
  x = norm_(blocks_->forward(x));
  return torch::linear(x, token_embedding_->weight);
}

torch::Tensor GptImpl::loss(const torch::Tensor& tokens, const torch::Tensor& targets) {
  return torch::nn::functional::cross_entropy(forward(tokens).view({-1, size_.vocabulary}), targets.view({-1}));
}

}  // namespace lockstep::lab
