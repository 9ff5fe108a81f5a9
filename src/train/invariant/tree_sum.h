#pragma once

#include <torch/types.h>

#include <vector>

namespace lockstep {

/// Sums lists of tensors, which come in order, along the binary tree that pairs neighbours, then pairs of pairs. Holds
/// at most one partial sum a level.
class TreeSum {
 public:
  using Leaf = std::vector<torch::Tensor>;

  /// The tensors belong to the sum from here on: it adds in place.
  void add(Leaf leaf);
  /// The sum of all, of which there were a power of two. It is empty afterwards.
  Leaf take();

 private:
  struct Partial {
    int level = 0;
    Leaf sum;
  };
  std::vector<Partial> partials_;  // levels fall
};

}  // namespace lockstep
