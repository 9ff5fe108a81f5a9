#pragma once

#include <lockstep/data_parallel.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "train/module_tensors.h"

namespace lockstep {

/// Takes those with sparse gradients out of `parameters`: embeddings that ask for them, and those of these names.
/// Throws Error (kInvalidArgument) for a name that is none of them.
std::vector<ModuleTensor> take_sparse(std::vector<ModuleTensor>& parameters, const std::vector<std::string>& names);

/// The parameters of a replica whose gradients are sparse (one dimension of indices): each rank gathers all ranks' rows
/// and takes their mean.
class SparseGradients {
 public:
  explicit SparseGradients(const Group& group) : group_(group) {}

  /// These are its parameters.
  void adopt(std::vector<ModuleTensor> parameters);
  const std::vector<ModuleTensor>& parameters() const { return parameters_; }
  /// What is to be accumulated instead of `gradient` where it counts `factor` times; undefined for "as it is". Throws
  /// Error (kUnsupported) for a dense one.
  torch::Tensor weighted(std::size_t parameter, const torch::Tensor& gradient, double factor) const;
  /// The gradient of `parameter` changed; `look` whether it is finite.
  void note(std::size_t parameter, bool look);
  /// Makes each `.grad` that some rank reached since the last time the mean over ranks. Collective, blocking. Returns
  /// how many bytes this rank contributed.
  std::size_t reduce();

  /// Those that were noted here since the last reduce, and are not zero.
  std::vector<std::string> not_reduced() const;
  /// Of the last reduce, the same on all ranks.
  std::vector<std::string> unreached() const;
  std::vector<NonFiniteGradient> non_finite() const;

 private:
  torch::Tensor gathered(const torch::Tensor& own, const std::vector<std::int64_t>& rows,
                         const std::string& what) const;
  std::size_t reduce(std::size_t parameter, const torch::Tensor& own, const std::vector<std::int64_t>& rows) const;

  Group group_;
  std::vector<ModuleTensor> parameters_;
  std::vector<std::uint8_t> reached_here_;  // reached.h
  std::vector<std::uint8_t> reached_;       // the largest of all ranks
};

}  // namespace lockstep
