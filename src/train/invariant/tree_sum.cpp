#include "train/invariant/tree_sum.h"

#include <utility>

namespace lockstep {

void TreeSum::add(Leaf leaf) {
  Partial next{0, std::move(leaf)};
  while (!partials_.empty() && partials_.back().level == next.level) {
    Partial left = std::move(partials_.back());
    partials_.pop_back();
    for (std::size_t i = 0; i < left.sum.size(); ++i) left.sum[i].add_(next.sum[i]);
    next = {left.level + 1, std::move(left.sum)};
  }
  partials_.push_back(std::move(next));
}

TreeSum::Leaf TreeSum::take() {
  TORCH_INTERNAL_ASSERT(partials_.size() == 1, "a tree of a power of two leaves has one root");
  Leaf sum = std::move(partials_.front().sum);
  partials_.clear();
  return sum;
}

}  // namespace lockstep
