#pragma once

#include <lockstep/data_parallel.h>

#include <string>
#include <vector>

namespace lockstep {

/// A parameter or buffer of a module.
struct ModuleTensor {
  std::string name;
  torch::Tensor tensor;
  bool trainable = false;  ///< a parameter that requires a gradient
  std::string tied_to;     ///< the first name of the same tensor, if it has several and this is a later one
  bool sparse = false;     ///< an embedding's that asks for sparse gradients

  /// "trainable Float [3, 4]", "fixed Long []", "tied to 'embedding.weight'".
  std::string description() const;
};

std::size_t bytes_of(const std::vector<ModuleTensor>& tensors);

/// All parameters, then all buffers, in the order of registration.
std::vector<ModuleTensor> tensors_of(const torch::nn::Module& module);
std::vector<ModuleTensor> tensors_of(const torch::jit::Module& module);
/// In the order given.
std::vector<ModuleTensor> tensors_of(const NamedTensors& tensors);

/// Those of tensors_of that are no parameters, each once; in a list, what requires no gradient.
std::vector<ModuleTensor> buffers_of(const torch::nn::Module& module);
std::vector<ModuleTensor> buffers_of(const torch::jit::Module& module);
std::vector<ModuleTensor> buffers_of(const NamedTensors& tensors);

}  // namespace lockstep
