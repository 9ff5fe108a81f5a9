#include "train/module_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/nn/modules/embedding.h>

#include <unordered_map>
#include <unordered_set>

namespace lockstep {

std::string ModuleTensor::description() const {
  if (!tied_to.empty()) return fmt::format("tied to '{}'", tied_to);
  std::string text = fmt::format("{}{} {} [{}]", trainable ? "trainable" : "fixed", sparse ? " sparse" : "",
                                 c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
  // Values go from memory to memory: elements must lie alike.
  if (!tensor.is_contiguous()) text += fmt::format(" with strides [{}]", fmt::join(tensor.strides(), ", "));
  return text;
}

namespace {

/// The list under way: knows which tensors it has.
class TensorList {
 public:
  void add(const std::string& name, const torch::Tensor& tensor, bool is_parameter) {
    const auto [first, is_new] = first_names_.emplace(tensor.unsafeGetTensorImpl(), name);
    tensors_.push_back({name, tensor, is_parameter && tensor.requires_grad(), is_new ? "" : first->second});
  }
  std::vector<ModuleTensor> take() { return std::move(tensors_); }
  std::vector<ModuleTensor> take_once() {
    std::erase_if(tensors_, [](const ModuleTensor& tensor) { return !tensor.tied_to.empty(); });
    return std::move(tensors_);
  }

 private:
  std::vector<ModuleTensor> tensors_;
  std::unordered_map<const void*, std::string> first_names_;
};

/// The weights of embeddings that ask for sparse gradients.
std::unordered_set<const void*> sparse_weights(const torch::nn::Module& module) {
  std::unordered_set<const void*> weights;
  const auto note = [&weights](const auto* embedding) {
    if (embedding && embedding->options.sparse()) weights.insert(embedding->weight.unsafeGetTensorImpl());
  };
  const auto look_at = [&note](const torch::nn::Module& part) {
    note(part.as<torch::nn::Embedding>());
    note(part.as<torch::nn::EmbeddingBag>());
  };
  look_at(module);  // by itself: modules() has it only if it is in a shared_ptr
  for (const auto& part : module.modules(/*include_self=*/false)) look_at(*part);
  return weights;
}

}  // namespace

std::size_t bytes_of(const std::vector<ModuleTensor>& tensors) {
  std::size_t bytes = 0;
  for (const ModuleTensor& one : tensors) bytes += one.tensor.nbytes();
  return bytes;
}

std::vector<ModuleTensor> tensors_of(const torch::nn::Module& module) {
  TensorList list;
  for (const auto& parameter : module.named_parameters()) list.add(parameter.key(), parameter.value(), true);
  for (const auto& buffer : module.named_buffers()) list.add(buffer.key(), buffer.value(), false);
  auto tensors = list.take();
  const auto sparse = sparse_weights(module);
  for (auto& tensor : tensors) tensor.sparse = sparse.count(tensor.tensor.unsafeGetTensorImpl()) > 0;
  return tensors;
}

std::vector<ModuleTensor> tensors_of(const torch::jit::Module& module) {
  TensorList list;
  for (const auto& parameter : module.named_parameters()) list.add(parameter.name, parameter.value, true);
  for (const auto& buffer : module.named_buffers()) list.add(buffer.name, buffer.value, false);
  return list.take();
}

std::vector<ModuleTensor> tensors_of(const NamedTensors& tensors) {
  TensorList list;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("DataParallel was given '{}', which is no tensor: leave it out.", name));
    }
    if (!tensor.is_leaf()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("DataParallel was given '{}', which was computed from other tensors: give it the leaves, "
                              "which have a gradient.",
                              name));
    }
    list.add(name, tensor, true);
  }
  return list.take();
}

std::vector<ModuleTensor> buffers_of(const torch::nn::Module& module) {
  TensorList list;
  for (const auto& buffer : module.named_buffers()) list.add(buffer.key(), buffer.value(), false);
  return list.take_once();
}

std::vector<ModuleTensor> buffers_of(const torch::jit::Module& module) {
  TensorList list;
  for (const auto& buffer : module.named_buffers()) list.add(buffer.name, buffer.value, false);
  return list.take_once();
}

std::vector<ModuleTensor> buffers_of(const NamedTensors& tensors) {
  TensorList list;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.defined() && !tensor.requires_grad()) list.add(name, tensor, false);
  }
  return list.take_once();
}

}  // namespace lockstep
