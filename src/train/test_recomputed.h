#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace lockstep::test {

/// Runs a layer without a graph, and again when its gradients are asked for: a backward within the backward.
struct Recomputed : torch::autograd::Function<Recomputed> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input,
                               torch::nn::LinearImpl* layer) {
    context->save_for_backward({input});
    context->saved_data["layer"] = reinterpret_cast<std::int64_t>(layer);
    return torch::tanh(layer->forward(input));
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    torch::AutoGradMode with_graph(true);
    const auto input = context->get_saved_variables()[0].detach().requires_grad_();
    auto* layer = reinterpret_cast<torch::nn::LinearImpl*>(context->saved_data["layer"].toInt());
    torch::tanh(layer->forward(input)).backward(gradients[0]);
    return {input.grad(), torch::Tensor()};
  }
};

/// One layer that runs `times` times, each time anew in backward, so that its gradients come as often; one that no loss
/// uses; and one that is used once.
struct RunsAgain : torch::nn::Module {
  torch::nn::Linear layer = register_module("layer", torch::nn::Linear(2, 2));
  torch::nn::Linear unused = register_module("unused", torch::nn::Linear(2, 2));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(2, 2));

  torch::Tensor forward(const torch::Tensor& batch, int times = 2) {
    auto features = batch.clone().requires_grad_();
    for (int i = 0; i < times; ++i) features = Recomputed::apply(features, layer.get());
    return head(features);
  }
};

}  // namespace lockstep::test
