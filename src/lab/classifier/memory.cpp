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

}  // namespace

std::vector<MemoryRecord> memory_of(const Sharded& sharded, const torch::optim::Optimizer& optimizer, int ranks) {
  std::uint64_t whole = 0, copies = 0;
  MemoryRecord parameters{.kind = "parameters"}, gradients{.kind = "gradients"}, state{.kind = "optimizer state"};
  for (const ParameterPiece& piece : sharded.pieces()) {
    whole += static_cast<std::uint64_t>(c10::multiply_integers(piece.shape)) * piece.parameter.element_size();
    parameters.measured_bytes += bytes_of(piece.parameter);
    gradients.measured_bytes += bytes_of(piece.parameter.grad());
    const auto kept = state_of(optimizer, piece.parameter);
    for (const torch::Tensor& tensor : kept) state.measured_bytes += bytes_of(tensor);
    copies = std::max<std::uint64_t>(copies, kept.size());
  }
  const auto part = [&](int stage) { return sharded.stage() >= stage ? whole / static_cast<unsigned>(ranks) : whole; };
  state.predicted_bytes = copies * part(1);
  gradients.predicted_bytes = part(2);
  parameters.predicted_bytes = part(3);
  return {parameters, gradients, state};
}

}  // namespace lockstep::lab
