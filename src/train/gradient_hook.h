#pragma once

#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <utility>

namespace lockstep {

/// Calls back around the accumulation of one leaf's gradient, in the thread that runs backward, while it lives.
/// What libtorch 1.13 and 2.x do differently about hooks stands in this file's .cpp.
class GradientHook {
 public:
  /// Given the gradient that is about to be added to `.grad`; returns what is to be added instead, or an undefined
  /// tensor for "as is".
  using Before = std::function<torch::Tensor(const torch::Tensor& gradient)>;
  /// After `.grad` was set or added to: at most once a backward.
  using After = std::function<void()>;

  GradientHook(torch::Tensor leaf, Before before, After after);
  ~GradientHook();
  GradientHook(const GradientHook&) = delete;
  GradientHook& operator=(const GradientHook&) = delete;

 private:
  // A shared_ptr<Node> in 1.13, an intrusive_ptr<Node> in newer ones. It must be retained: the leaf holds it weakly.
  using Accumulator = decltype(torch::autograd::impl::grad_accumulator(std::declval<const torch::Tensor&>()));

  torch::Tensor leaf_;
  Accumulator accumulator_;
  unsigned before_key_ = 0;
  std::uintptr_t after_key_ = 0;
};

/// Has the backward that calls this run `callback` in the calling thread when it is done; if it throws, `callback` is
/// destroyed instead. Of backwards within one another (activation checkpointing) the outermost one counts.
void at_end_of_backward(std::function<void()> callback);

}  // namespace lockstep
