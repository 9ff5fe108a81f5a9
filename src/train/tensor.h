#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

#include <optional>

namespace lockstep {

/// The collectives' name of a torch type; none if collectives do not take it.
std::optional<DataType> data_type_of(torch::ScalarType type);

/// For a collective, of a contiguous tensor of such a type.
Buffer buffer_of(const torch::Tensor& tensor);

/// A one-dimensional tensor over a collective's memory, which it keeps alive.
torch::Tensor tensor_over(const RegisteredMemory& memory, torch::ScalarType type);
/// A tensor of `like`'s type, shape and, if dense, strides, over the memory from `offset` bytes on, which it keeps
/// alive. Not a view: a gradient must not be one (zero_grad detaches in place, which a view refuses).
torch::Tensor tensor_like(const torch::Tensor& like, const RegisteredMemory& memory, std::size_t offset);

}  // namespace lockstep
