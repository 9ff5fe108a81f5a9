#pragma once

#include "kernels/reduce.h"

#include <cstring>
#include <ostream>
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

/// Values of one magnitude for half of the operands, so that the order of a sum shows in its bits and sums do not all
/// end as NaN.
inline Bytes random_operand(DataType dtype, std::size_t elements, std::mt19937_64& random) {
  const auto awkward = awkward_values(dtype);
  const std::size_t size = size_of(dtype);
  const bool tame = random() % 2 == 0;
  Bytes bytes(elements * size);
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint64_t value = !tame && random() % 16 == 0 ? awkward[random() % awkward.size()] : random();
    if (tame) {  // the exponent of 1 to 2, and the sign and mantissa as they came
      switch (dtype) {
        case DataType::kFloat32: value = (value & 0x807fffff) | 0x3f800000; break;
        case DataType::kFloat64: value = (value & 0x800fffffffffffff) | 0x3ff0000000000000; break;
        case DataType::kBFloat16: value = (value & 0x807f) | 0x3f80; break;
        case DataType::kFloat16: value = (value & 0x83ff) | 0x3c00; break;
        default: break;
      }
    }
    std::memcpy(bytes.data() + i * size, &value, size);  // the low bytes: this machine is little-endian
  }
  return bytes;
}

struct Trial {
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 0;
  std::size_t operands = 2;
  std::size_t targets = 1;
  int divide_by = 1;
  std::size_t streamed = 0;  ///< so many of the first targets are written past the caches
  bool asks_early = false;
  std::size_t in_place = 0;  ///< so many of the targets are operands too, from the last operand down
  bool copies = false;       ///< something else to where the first operand is, if that is no target
  bool aligned = false;      ///< all to a cache line; otherwise each pointer starts at another element of its own

  friend std::ostream& operator<<(std::ostream& out, const Trial& trial) {
    return out << to_string(trial.dtype) << " " << to_string(trial.op) << " count " << trial.count << " operands "
               << trial.operands << " targets " << trial.targets << " of which streamed " << trial.streamed
               << (trial.asks_early ? ", others asked for" : "") << " divided by " << trial.divide_by
               << (trial.copies ? " copying" : "") << " in place " << trial.in_place
               << (trial.aligned ? " aligned" : "");
  }
};

/// Memory of which a part is worked on, so that what is written around that part shows.
class Memory {
 public:
  Memory(const Trial& trial, std::mt19937_64& random) : size_(size_of(trial.dtype)) {
    bytes_ = random_operand(trial.dtype, trial.count + 2 * kLineBytes, random);
    const auto past = reinterpret_cast<std::uintptr_t>(bytes_.data()) % kLineBytes;
    first_ = (kLineBytes - past) % kLineBytes + (trial.aligned ? 0 : random() % (kLineBytes / size_) * size_);
  }

  void* begin() { return bytes_.data() + first_; }
  Bytes bytes() const { return bytes_; }
  void assign(const Bytes& bytes) { std::memcpy(bytes_.data(), bytes.data(), bytes.size()); }

 private:
  static constexpr std::size_t kLineBytes = 64;

  std::size_t size_;
  Bytes bytes_;
  std::size_t first_;
};

/// Whether both leave the same bytes, within the targets, around them and in the operands.
inline bool agrees_with_scalar(const Trial& trial, std::mt19937_64& random) {
  std::vector<Memory> memories;
  const std::size_t combined = trial.operands + trial.targets - trial.in_place;
  const bool copies = trial.copies && trial.in_place < trial.operands;
  const std::size_t total = combined + (copies ? 1 : 0);
  for (std::size_t i = 0; i < total; ++i) memories.emplace_back(trial, random);
  std::vector<const void*> operands;
  std::vector<void*> targets;
  std::vector<Bytes> before;
  for (std::size_t i = 0; i < total; ++i) {
    if (i < trial.operands) operands.push_back(memories[i].begin());
    if (i >= trial.operands - trial.in_place && i < combined) targets.push_back(memories[i].begin());
    before.push_back(memories[i].bytes());
  }
  const ReduceArguments arguments{.targets = targets.data(),
                                  .target_count = targets.size(),
                                  .operands = operands.data(),
                                  .operand_count = operands.size(),
                                  .count = trial.count,
                                  .dtype = trial.dtype,
                                  .op = trial.op,
                                  .divide_by = trial.divide_by,
                                  .streamed_targets = trial.streamed,
                                  .asks_early = trial.asks_early,
                                  .copy_target = copies ? memories.front().begin() : nullptr,
                                  .copy_source = copies ? memories.back().begin() : nullptr};
  reduce(arguments);
  std::vector<Bytes> after;
  for (std::size_t i = 0; i < total; ++i) {
    after.push_back(memories[i].bytes());
    memories[i].assign(before[i]);
  }
  reduce_scalar(arguments);
  for (std::size_t i = 0; i < total; ++i) {
    if (memories[i].bytes() != after[i]) return false;
  }
  return true;
}

}  // namespace lockstep::kernels
