#include "train/gradient_hook.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>

#include <memory>

namespace lockstep {

using torch::autograd::Engine;
using torch::autograd::variable_list;
using torch::autograd::utils::LambdaPostHook;

GradientHook::GradientHook(torch::Tensor leaf, Before before, After after)
    : leaf_(std::move(leaf)), accumulator_(torch::autograd::impl::grad_accumulator(leaf_)) {
  before_key_ =
      leaf_.register_hook([before = std::move(before)](const torch::Tensor& gradient) { return before(gradient); });
  after_key_ = accumulator_->add_post_hook(
      std::make_unique<LambdaPostHook>([after = std::move(after)](const variable_list& outputs, const variable_list&) {
        after();
        return outputs;
      }));
}

GradientHook::~GradientHook() {
  accumulator_->del_post_hook(after_key_);
  leaf_.remove_hook(before_key_);
}

void at_end_of_backward(std::function<void()> callback) {
  Engine::get_default_engine().queue_callback(std::move(callback));
}

}  // namespace lockstep
