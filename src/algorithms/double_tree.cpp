#include "algorithms/pieces.h"

#include "base/index.h"

#include <algorithm>
#include <vector>

namespace lockstep::algorithm {

namespace {

/// The two trees over the places 1 to `size`. In the first, place x is a leaf if x is odd; what is inner has its
/// children on both sides, as in a search tree: so ranks are summed in their order. The second is the first mirrored,
/// or, where that would bring leaves upon leaves (an odd number), moved on by one: who is inner in one is a leaf in the
/// other.
class TwoTrees {
 public:
  explicit TwoTrees(int size) : size_(size), heights_(static_cast<std::size_t>(size) + 1) {
    for (int bit = 1; bit <= size; bit *= 2) {
      for (int place = bit; place <= size; place += 2 * bit) {
        int& parent_height = heights_[at(parent(place))];
        parent_height = std::max(parent_height, heights_[at(place)] + 1);
      }
    }
  }

  /// In the first tree; 0 above its root.
  int parent(int place) const {
    const int bit = place & -place;
    const int right_of_it = (place ^ bit) | (2 * bit);
    return right_of_it <= size_ ? right_of_it : place ^ bit;
  }
  /// Steps until a place has heard from all below it.
  int height(int place) const { return heights_[at(place)]; }

  /// Where a place of the first tree lies in that tree (0) or the other (1). What is above the root stays.
  int place_in(int tree, int place) const {
    if (tree == 0 || place == 0) return place;
    return size_ % 2 == 0 ? size_ + 1 - place : place % size_ + 1;
  }

 private:
  int size_;
  std::vector<int> heights_;
};

}  // namespace

/// Two binary trees, each with one half of the data: sums go up and the result comes down in both at once. A rank is
/// inner in at most one of the trees, so it passes on one half and is a leaf for the other; cut into segments
/// (segmented.h), the trees keep every rank busy both ways in every step, and the time nears that of 2 buffers, in a
/// number of steps that grows with log2 p only. Broadcast and reduce have their root above both trees.
///
/// Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
/// Computing 35(12), 2009.
// Cost, with H the height:
//   all_reduce: 2 (2 H - 1) (alpha + n / 2 beta) + (2 H - 1) n / 2 gamma, H = floor(log2 p);
//     unless p = 2^H, up to 2 alpha + n beta + n / 2 gamma more
//   broadcast: up to 2 ceil(log2 p) (alpha + n / 2 beta)
//   reduce: up to 2 ceil(log2 p) (alpha + n / 2 (beta + gamma))
// In k segments the rank that is busiest takes 4 half slices a step and sends as many; an all_reduce takes
// at most (2 H + k - 1) (4 alpha + 2 / k n beta + 1 / k n gamma), of which the first steps and the last take less.
Schedule double_tree(const ScheduleRequest& request) {
  const int n = request.ranks;
  const bool has_top = has_root(request.collective);
  ScheduleBuilder s = begin("double_tree", request, 2);
  const TwoTrees trees(has_top ? n - 1 : n);
  const int top = trees.height(0) - (has_top ? 0 : 1);
  // `use(tree, link)` for the links to their parents from the places that have heard from all below after `step` steps.
  const auto for_each_edge = [&](int step, const auto& use) {
    for (int place = 1; place <= (has_top ? n - 1 : n); ++place) {
      const int parent = trees.parent(place);
      if (trees.height(place) != step || (parent == 0 && !has_top)) continue;
      for (const int tree : {0, 1}) {
        const auto rank_at = [&](int p) {
          const int there = trees.place_in(tree, p);
          return has_top ? wrapped(request.root + there, n) : there - 1;
        };
        use(tree, ScheduleBuilder::Link{.from = rank_at(place), .to = rank_at(parent)});
      }
    }
    s.end_step();
  };
  if (is_reduction(request.collective)) {
    for (int step = 0; step < top; ++step) {
      for_each_edge(step, [&](int tree, ScheduleBuilder::Link up) { s.reduce(tree, up); });
    }
  }
  if (distributes(request.collective)) {
    for (int step = top - 1; step >= 0; --step) {
      for_each_edge(step, [&](int tree, ScheduleBuilder::Link up) { s.copy(tree, {.from = up.to, .to = up.from}); });
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
