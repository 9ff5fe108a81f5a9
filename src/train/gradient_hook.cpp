#include "train/gradient_hook.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace lockstep {

using torch::autograd::Engine;
using torch::autograd::GraphTask;
using torch::autograd::variable_list;
using torch::autograd::utils::LambdaPostHook;

namespace {

/// Within how many others the backward that this thread runs does run. The engine shows members of it, not itself.
int depth_of_backward() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  constexpr std::size_t kOffset = offsetof(GraphTask, exec_info_);
#pragma GCC diagnostic pop
  const auto* member = reinterpret_cast<const char*>(torch::autograd::get_current_graph_task_exec_info());
  return reinterpret_cast<const GraphTask*>(member - kOffset)->reentrant_depth_;
}

/// What waits for the end of the outermost backward. The engine knows the ends of each; when an inner one is over it
/// destroys what waited there, at a moment when the one around it is the thread's again.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> callback) : callback_(std::move(callback)) {}
  ~AtEnd() {
    if (goes_on_) at_end_of_backward(std::move(callback_));
  }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

  void backward_ended() {
    const int depth = depth_of_backward();
    // Those as deep as MAX_DEPTH run in threads of the engine's own, which have none around.
    goes_on_ = depth > 0 && depth < torch::autograd::MAX_DEPTH;
    if (!goes_on_) callback_();
  }

 private:
  std::function<void()> callback_;
  bool goes_on_ = false;
};

}  // namespace

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
  Engine::get_default_engine().queue_callback(
      [at_end = std::make_shared<AtEnd>(std::move(callback))] { at_end->backward_ended(); });
}

}  // namespace lockstep
