#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {
namespace detail {

/// What a wrapped module tells of its forward.
class BlockHooks {
 public:
  virtual ~BlockHooks() = default;
  virtual void before_forward() = 0;
  virtual void after_forward(const std::vector<torch::Tensor>& outputs) = 0;
  virtual void forward_threw() = 0;
  /// Throws Error (kInvalidArgument) if this rank has only a piece of the parameters.
  virtual void require_whole() const = 0;
};

inline void collect(std::vector<torch::Tensor>& tensors, const torch::Tensor& output) { tensors.push_back(output); }
template <class T>
void collect(std::vector<torch::Tensor>& tensors, const std::vector<T>& outputs) {
  for (const auto& output : outputs) collect(tensors, output);
}
template <class... T>
void collect(std::vector<torch::Tensor>& tensors, const std::tuple<T...>& outputs) {
  std::apply([&tensors](const auto&... output) { (collect(tensors, output), ...); }, outputs);
}

/// Stands for a module: has its parameters, buffers and children under their own names.
class WrappedModule : public torch::nn::Module {
 public:
  WrappedModule(std::shared_ptr<torch::nn::Module> inner, std::shared_ptr<BlockHooks> hooks)
      : torch::nn::Module(inner->name()), module_(std::move(inner)), hooks_(std::move(hooks)) {
    for (const auto& parameter : module_->named_parameters(false)) {
      register_parameter(parameter.key(), parameter.value(), parameter.value().requires_grad());
    }
    for (const auto& buffer : module_->named_buffers(false)) register_buffer(buffer.key(), buffer.value());
    for (const auto& child : module_->named_children()) register_module(child.key(), child.value());
  }

  void train(bool on = true) override {
    torch::nn::Module::train(on);
    module_->train(on);
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    if (hooks_) hooks_->require_whole();
    torch::nn::Module::save(archive);
  }
  void load(torch::serialize::InputArchive& archive) override {
    if (hooks_) hooks_->require_whole();
    torch::nn::Module::load(archive);
  }
  const std::shared_ptr<BlockHooks>& hooks() const { return hooks_; }

 protected:
  template <class Forward>
  auto run(const Forward& forward) {
    if (!hooks_) return forward();
    hooks_->before_forward();
    try {
      auto result = forward();
      std::vector<torch::Tensor> outputs;
      collect(outputs, result);
      hooks_->after_forward(outputs);
      return result;
    } catch (...) {
      hooks_->forward_threw();
      throw;
    }
  }

 private:
  std::shared_ptr<torch::nn::Module> module_;
  std::shared_ptr<BlockHooks> hooks_;
};

/// The type of M's forward; of one that is a template or overloaded (Sequential's) from tensor to tensor.
template <class M, class = void>
struct ForwardOf {
  using type = torch::Tensor (M::*)(torch::Tensor);
};
template <class M>
struct ForwardOf<M, std::void_t<decltype(&M::forward)>> {
  using type = decltype(&M::forward);
};

template <class M, class Forward>
class WrappedCall;
template <class M, class Owner, class Result, class... Arguments>
class WrappedCall<M, Result (Owner::*)(Arguments...)> : public WrappedModule {
 public:
  WrappedCall(std::shared_ptr<M> inner, std::shared_ptr<BlockHooks> hooks)
      : WrappedModule(inner, std::move(hooks)), inner_(std::move(inner)) {}

  std::decay_t<Result> forward(Arguments... arguments) {
    return this->run([&]() -> std::decay_t<Result> { return inner_->forward(std::forward<Arguments>(arguments)...); });
  }
  /// The module that was wrapped. Its forward, called directly, finds no whole parameters.
  M& inner() { return *inner_; }

 private:
  std::shared_ptr<M> inner_;
};
template <class M, class Owner, class Result, class... Arguments>
class WrappedCall<M, Result (Owner::*)(Arguments...) const> : public WrappedCall<M, Result (Owner::*)(Arguments...)> {
  using WrappedCall<M, Result (Owner::*)(Arguments...)>::WrappedCall;
};

template <class M>
class WrappedImpl : public WrappedCall<M, typename ForwardOf<M>::type> {
  using WrappedCall<M, typename ForwardOf<M>::type>::WrappedCall;
};

}  // namespace detail

/// What Sharded::wrap returns, for a module of class M (a Block's is BlockImpl): a module holder to be registered and
/// called as the block itself would have been. Default arguments of the block's forward are lost: give all of them.
template <class M>
using Wrapped = torch::nn::ModuleHolder<detail::WrappedImpl<M>>;

}  // namespace lockstep
