#pragma once

#include "kernels/reduce.h"

#include <cstring>
#include <random>
#include <vector>

/// Operands of random bits with what is awkward strewn in, and the comparison of `reduce` with `reduce_scalar` on them.
namespace lockstep::kernels {

using Bytes = std::vector<unsigned char>;

inline constexpr DataType kDataTypes[] = {DataType::kFloat32, DataType::kFloat64, DataType::kBFloat16,
                                          DataType::kFloat16, DataType::kInt32,   DataType::kInt64,
                                          DataType::kUInt8};
inline constexpr ReduceOp kReduceOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax,
                                          ReduceOp::kProduct};

inline std::vector<std::uint64_t> awkward_values(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32: return {0x7fc00001, 0xff800123, 0x7f800000, 0xff800000, 0x80000000, 0, 1, 0x007fffff};
    case DataType::kFloat64:
      return {0x7ff8000000000001, 0xfff0000000000123, 0x7ff0000000000000, 0x8000000000000000, 0, 1};
    case DataType::kBFloat16: return {0x7fc1, 0xff81, 0x7f80, 0xff80, 0x8000, 0, 1, 0x7f7f, 0x3f80, 0x3f81, 0x3b80};
    case DataType::kFloat16:
      return {0x7e01, 0xfc01, 0x7c00, 0xfc00, 0x8000, 0, 1, 0x03ff, 0x0400, 0x7bff, 0x3c00, 0x1400};
    case DataType::kInt32: return {0x80000000, 0x7fffffff, 0xffffffff, 0};
    case DataType::kInt64: return {0x8000000000000000, 0x7fffffffffffffff, 0xffffffffffffffff, 0};
    case DataType::kUInt8: return {0xff, 0x80, 0};
  }
  return {};
}

inline Bytes random_operand(DataType dtype, std::size_t elements, std::mt19937_64& random) {
  const auto awkward = awkward_values(dtype);
  const std::size_t size = size_of(dtype);
  Bytes bytes(elements * size);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t value = random() % 4 == 0 ? awkward[random() % awkward.size()] : random();
    std::memcpy(bytes.data() + i * size, &value, size);  // the low bytes: this machine is little-endian
  }
  return bytes;
}

struct Trial {
  DataType dtype;
  ReduceOp op;
  std::size_t count;
  std::size_t sources;
  std::size_t offset;  ///< elements that the target starts beyond its allocation; each source another one more
  int divide_by;
};

/// Whether both leave the same bytes, within the target and around it.
inline bool agrees_with_scalar(const Trial& trial, std::mt19937_64& random) {
  const std::size_t size = size_of(trial.dtype);
  const std::size_t elements = trial.offset + trial.count + trial.sources + 16;
  Bytes target = random_operand(trial.dtype, elements, random);
  Bytes expected = target;
  std::vector<Bytes> operands;
  std::vector<const void*> sources;
  for (std::size_t s = 0; s < trial.sources; ++s) {
    operands.push_back(random_operand(trial.dtype, elements, random));
    sources.push_back(operands.back().data() + (trial.offset + s + 1) * size);
  }
  ReduceArguments arguments{.target = target.data() + trial.offset * size,
                            .sources = sources.data(),
                            .source_count = trial.sources,
                            .count = trial.count,
                            .dtype = trial.dtype,
                            .op = trial.op,
                            .divide_by = trial.divide_by};
  reduce(arguments);
  arguments.target = expected.data() + trial.offset * size;
  reduce_scalar(arguments);
  return target == expected;
}

}  // namespace lockstep::kernels
