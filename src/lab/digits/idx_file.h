#pragma once

#include <torch/types.h>

#include <filesystem>

namespace lockstep::lab {

/// A file in the idx format of LeCun's MNIST, of unsigned bytes, gzipped or not: uint8, of the shape that it says.
/// Throws Error (kInvalidArgument) with the file and what is wrong: it cannot be read, is cut short or damaged, holds
/// other numbers than bytes, or has not `dimensions` dimensions.
torch::Tensor read_idx(const std::filesystem::path& file, int dimensions);

}  // namespace lockstep::lab
