#include "lab/classifier/memory.h"

#include "train/optimizer_fields.h"

#include <torch/types.h>

#include <algorithm>

namespace lockstep::lab {

namespace {

std::uint64_t bytes_of(const torch::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::uint64_t>(tensor.nbytes()) : 0;
}

/// Tensors of a parameter's size that an optimizer keeps for it.
std::vector<torch::Tensor> state_of(const torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  std::vector<torch::Tensor> tensors;
  if (auto* const state = find_state(optimizer, parameter)) {
    for (const auto& [name, field] : fields_of(*state)) {
      if (auto* const* tensor = std::get_if<torch::Tensor*>(&field)) {
        if ((*tensor)->defined()) tensors.push_back(**tensor);
      }
    }
  }
  return tensors;
}

/// What a rank's tensors hold, parameter by parameter.
class Holdings {
 public:
  explicit Holdings(const torch::optim::Optimizer& optimizer) : optimizer_(optimizer) {}

  /// `elements`: of the whole parameter, of which the rank may hold a piece.
  void add(const torch::Tensor& parameter, std::int64_t elements) {
    whole_ += static_cast<std::uint64_t>(elements) * parameter.element_size();
    parameters_.measured_bytes += bytes_of(parameter);
    gradients_.measured_bytes += bytes_of(parameter.grad());
    const auto kept = state_of(optimizer_, parameter);
    for (const torch::Tensor& tensor : kept) state_.measured_bytes += bytes_of(tensor);
    copies_ = std::max<std::uint64_t>(copies_, kept.size());
  }

  /// Beside the formulas of this stage.
  std::vector<MemoryRecord> at(int stage, int ranks) {
    const auto part = [&](int from) { return stage >= from ? whole_ / static_cast<unsigned>(ranks) : whole_; };
    state_.predicted_bytes = copies_ * part(1);
    gradients_.predicted_bytes = part(2);
    parameters_.predicted_bytes = part(3);
    return {parameters_, gradients_, state_};
  }

 private:
  const torch::optim::Optimizer& optimizer_;
  std::uint64_t whole_ = 0, copies_ = 0;
  MemoryRecord parameters_{.kind = "parameters"}, gradients_{.kind = "gradients"}, state_{.kind = "optimizer state"};
};

}  // namespace

std::vector<MemoryRecord> memory_of(const Sharded& sharded, const torch::optim::Optimizer& optimizer, int ranks) {
  Holdings holdings(optimizer);
  for (const ParameterPiece& piece : sharded.pieces()) {
    holdings.add(piece.parameter, c10::multiply_integers(piece.shape));
  }
  std::vector<MemoryRecord> memory = holdings.at(sharded.stage(), ranks);
  if (const std::uint64_t bytes = sharded.buffer_bytes(); bytes > 0) {
    memory.push_back({.kind = "communication buffers", .measured_bytes = bytes});
  }
  return memory;
}

std::vector<MemoryRecord> memory_of(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer) {
  Holdings holdings(optimizer);
  for (const torch::Tensor& parameter : module.parameters()) holdings.add(parameter, parameter.numel());
  return holdings.at(0, 1);
}

}  // namespace lockstep::lab
