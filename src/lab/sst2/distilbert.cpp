#include "lab/sst2/distilbert.h"

#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

namespace lockstep::lab {

namespace {

torch::nn::LayerNorm layer_norm(const DistilBertConfig& config) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.width}).eps(config.norm_epsilon));
}

/// Draws the weights of a module's parts.
void initialise(const torch::nn::Module& module, double deviation) {
  const torch::NoGradGuard no_grad;
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (auto* const linear = part->as<torch::nn::Linear>()) {
      linear->weight.normal_(0, deviation);
      linear->bias.zero_();
    } else if (auto* const embedding = part->as<torch::nn::Embedding>()) {
      embedding->weight.normal_(0, deviation);
    }
  }
}

/// A module that has only a name, for those of its parts.
std::shared_ptr<torch::nn::Module> part_of(torch::nn::Module& parent, const char* name) {
  return parent.register_module(name, std::make_shared<torch::nn::Module>());
}

}  // namespace

DistilBertAttentionImpl::DistilBertAttentionImpl(const DistilBertConfig& config)
    : heads_(config.heads),
      dropout_(register_module("dropout", torch::nn::Dropout(config.attention_dropout))),
      query_(register_module("q_lin", torch::nn::Linear(config.width, config.width))),
      key_(register_module("k_lin", torch::nn::Linear(config.width, config.width))),
      value_(register_module("v_lin", torch::nn::Linear(config.width, config.width))),
      output_(register_module("out_lin", torch::nn::Linear(config.width, config.width))) {}

torch::Tensor DistilBertAttentionImpl::forward(const torch::Tensor& x, const torch::Tensor& bias) {
  const std::int64_t batch = x.size(0), time = x.size(1), width = x.size(2), head_width = width / heads_;
  const auto by_head = [&](const torch::Tensor& all) {
    return all.view({batch, time, heads_, head_width}).transpose(1, 2);
  };
  const torch::Tensor query = by_head(query_(x)) / std::sqrt(static_cast<double>(head_width));
  const torch::Tensor scores = torch::matmul(query, by_head(key_(x)).transpose(2, 3)) + bias;
  const torch::Tensor attended = torch::matmul(dropout_(scores.softmax(-1)), by_head(value_(x)));
  return output_(attended.transpose(1, 2).reshape({batch, time, width}));
}

DistilBertLayerImpl::DistilBertLayerImpl(const DistilBertConfig& config)
    : attention_(register_module("attention", DistilBertAttention(config))),
      attention_norm_(register_module("sa_layer_norm", layer_norm(config))),
      output_norm_(nullptr) {
  const auto feed_forward = part_of(*this, "ffn");
  dropout_ = feed_forward->register_module("dropout", torch::nn::Dropout(config.dropout));
  expansion_ = feed_forward->register_module("lin1", torch::nn::Linear(config.width, config.feed_forward));
  projection_ = feed_forward->register_module("lin2", torch::nn::Linear(config.feed_forward, config.width));
  output_norm_ = register_module("output_layer_norm", layer_norm(config));
}

torch::Tensor DistilBertLayerImpl::forward(torch::Tensor x, const torch::Tensor& bias) {
  x = attention_norm_(x + attention_(x, bias));
  return output_norm_(x + dropout_(projection_(torch::gelu(expansion_(x)))));
}

DistilBertImpl::DistilBertImpl(const DistilBertConfig& config, Sharded* sharded)
    : config_(config), pre_classifier_(nullptr), classifier_(nullptr), classifier_dropout_(nullptr) {
  const auto body = part_of(*this, "distilbert");
  const auto embeddings = part_of(*body, "embeddings");
  words_ = embeddings->register_module(
      "word_embeddings",
      torch::nn::Embedding(torch::nn::EmbeddingOptions(config.vocabulary, config.width).padding_idx(config.padding)));
  positions_ = embeddings->register_module("position_embeddings", torch::nn::Embedding(config.positions, config.width));
  embedding_norm_ = embeddings->register_module("LayerNorm", layer_norm(config));
  dropout_ = embeddings->register_module("dropout", torch::nn::Dropout(config.dropout));
  pre_classifier_ = register_module("pre_classifier", torch::nn::Linear(config.width, config.width));
  classifier_ = register_module("classifier", torch::nn::Linear(config.width, config.labels));
  classifier_dropout_ = register_module("dropout", torch::nn::Dropout(config.classifier_dropout));
  initialise(*this, config.initial_deviation);
  {
    const torch::NoGradGuard no_grad;
    words_->weight[config.padding].zero_();
  }
  torch::nn::ModuleList layers;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const DistilBertLayer layer(config);
    initialise(*layer, config.initial_deviation);  // while its values are whole
    if (sharded != nullptr) {
      const auto block = sharded->wrap(layer);
      layers->push_back(block);
      layers_.emplace_back(block);
    } else {
      layers->push_back(layer);
      layers_.emplace_back(layer);
    }
  }
  part_of(*body, "transformer")->register_module("layer", layers);
}

torch::Tensor DistilBertImpl::forward(const torch::Tensor& tokens, const torch::Tensor& is_token) {
  const torch::Tensor places = torch::arange(tokens.size(1), tokens.options());
  torch::Tensor x = dropout_(embedding_norm_(words_(tokens) + positions_(places).unsqueeze(0)));
  const torch::Tensor bias = torch::zeros(is_token.sizes(), x.options())
                                 .masked_fill(is_token.logical_not(), -std::numeric_limits<float>::infinity())
                                 .unsqueeze(1)
                                 .unsqueeze(1);
  for (torch::nn::AnyModule& layer : layers_) x = layer.forward(x, bias);
  const torch::Tensor first = torch::relu(pre_classifier_(x.select(1, 0)));
  return classifier_(classifier_dropout_(first));
}

}  // namespace lockstep::lab
