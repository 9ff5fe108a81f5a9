#include "lab/digits/network.h"

#include <lockstep/sync_batch_norm.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/pooling.h>

namespace lockstep::lab {

namespace {

/// Batch is BatchNorm1d or BatchNorm2d.
template <class Batch>
void add_norm(torch::nn::Sequential& net, std::int64_t channels, const std::string& norm) {
  constexpr std::int64_t kGroups = 8;
  if (norm == "group") {
    net->push_back(torch::nn::GroupNorm(torch::nn::GroupNormOptions(kGroups, channels)));
  } else {
    net->push_back(Batch(channels));
  }
}

void add_convolution(torch::nn::Sequential& net, std::int64_t from, std::int64_t to, const std::string& norm) {
  net->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 3).padding(1).bias(false)));
  add_norm<torch::nn::BatchNorm2d>(net, to, norm);
  net->push_back(torch::nn::ReLU());
  net->push_back(torch::nn::MaxPool2d(2));
}

}  // namespace

torch::nn::Sequential digits_network(const std::string& norm, bool norm_linear, const Group& group) {
  constexpr std::int64_t kHidden = 64;
  torch::nn::Sequential net;
  add_convolution(net, 1, 16, norm);
  add_convolution(net, 16, 32, norm);
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(torch::nn::LinearOptions(32 * 7 * 7, kHidden).bias(!norm_linear)));
  if (norm_linear) add_norm<torch::nn::BatchNorm1d>(net, kHidden, norm);
  net->push_back(torch::nn::ReLU());
  net->push_back(torch::nn::Linear(kHidden, 10));
  if (norm == "sync") convert_sync_batch_norm(*net, group);
  return net;
}

}  // namespace lockstep::lab
