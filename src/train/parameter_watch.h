#pragma once

#include <lockstep/data_parallel.h>

#include <functional>
#include <string>
#include <unordered_set>

namespace lockstep {

/// Whether a model's parameters are still those that it was wrapped with: the gradient of a new one would stay each
/// rank's own. A parameter that does not require a gradient any more, or is no longer there, is none that changed.
class ParameterWatch {
 public:
  /// Of what the model has now. A module that is in no shared_ptr must be there, where it is, at each change().
  explicit ParameterWatch(torch::nn::Module& module);
  explicit ParameterWatch(const torch::jit::Module& module);
  explicit ParameterWatch(NamedTensors tensors);

  /// "Parameter 'fc.weight' was added", of the first one that is new; empty if none is. Takes some 0.3 us a parameter.
  std::string change() const;
  /// The same of one that has a gradient, so that a backward reached it.
  std::string change_that_trained() const;

 private:
  explicit ParameterWatch(std::function<NamedTensors()> now);
  std::string change_of(const std::function<bool(const torch::Tensor&)>& counts) const;

  std::function<NamedTensors()> now_;
  NamedTensors first_;  // which keeps their addresses from being used anew
  std::unordered_set<const void*> trained_;
};

/// What is said of a change that is not empty. `owner` ("DataParallel") is what does not synchronise it.
std::string refusal_of(const std::string& change, int rank, const std::string& owner);

/// Throws Error (kMismatch) on every rank that names parameter and rank: some rank's `change` is not empty. Collective.
[[noreturn]] void refuse_change(const Group& group, const std::string& change, const std::string& owner);

}  // namespace lockstep
