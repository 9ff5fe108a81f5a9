#include "train/tensor.h"

namespace lockstep {

std::optional<DataType> data_type_of(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32: return DataType::kFloat32;
    case torch::kFloat64: return DataType::kFloat64;
    case torch::kBFloat16: return DataType::kBFloat16;
    case torch::kFloat16: return DataType::kFloat16;
    case torch::kInt32: return DataType::kInt32;
    case torch::kInt64: return DataType::kInt64;
    case torch::kUInt8: return DataType::kUInt8;
    default: return std::nullopt;
  }
}

Buffer buffer_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()), data_type_of(tensor.scalar_type()).value()};
}

torch::Tensor tensor_over(const RegisteredMemory& memory, torch::ScalarType type) {
  const auto count = static_cast<std::int64_t>(memory.bytes() / torch::elementSize(type));
  return torch::from_blob(
      memory.data(), {count}, [owner = memory.owner()](void*) {}, torch::TensorOptions(type));
}

torch::Tensor tensor_like(const torch::Tensor& like, const RegisteredMemory& memory, std::size_t offset) {
  auto* data = static_cast<std::byte*>(memory.data()) + offset;
  const auto release = [owner = memory.owner()](void*) {};
  const torch::TensorOptions options(like.scalar_type());
  if (!like.is_non_overlapping_and_dense()) return torch::from_blob(data, like.sizes(), release, options);
  return torch::from_blob(data, like.sizes(), like.strides(), release, options);
}

}  // namespace lockstep
