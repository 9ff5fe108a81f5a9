#pragma once

#include "base/index.h"
#include "schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep {

/// What every rank holds of one chunk while a schedule is executed on symbols: nothing, one rank's contribution, or a
/// sum of several. Chunks do not touch each other, so that each can be followed alone.
///
/// Values are numbers, equal where the sums were made alike: a sum that was made before is found again, not made twice,
/// whichever of its two operands comes first. What meets in a step is rounded once, when it is stored: 16-bit floats
/// are summed in float32. So a sum that is stored and the same within another of its step are two values.
class Holdings {
 public:
  /// At the start: who contributes holds its own (promise.h).
  Holdings(const Schedule& schedule, int chunk);

  /// Carries out a step: the transfers of it that move this chunk, as schedule.h defines it. A reduce into nothing is
  /// a copy; a contribution counted twice shows once.
  void apply(std::span<const Transfer> transfers);

  bool holds(int rank) const { return values_[at(rank)] != kNothing; }
  /// Every contribution that the chunk is to have.
  bool is_complete(int rank) const;
  std::vector<int> contributions(int rank) const;

  struct Twice {
    int rank;
    int contribution;
  };
  /// A rank whose sum would have a contribution twice after these reduces of one step.
  std::optional<Twice> counted_twice(std::span<const Transfer> reduces) const;

  /// The order of the sum as it was made, as "((0+1)+2)"; of two operands the one with the lower rank first.
  std::string expression(int rank) const;
  /// Equal for two ranks if their values were summed in the same order, and rounded at the same places of it: then they
  /// have the same bits, of 16-bit floats too.
  int value(int rank) const { return values_[at(rank)]; }
  /// Wherever they were rounded.
  bool in_same_order(int rank, int other) const { return order_of(values_[at(rank)]) == order_of(values_[at(other)]); }
  /// Whether all ranks' contributions are summed along the binary tree over all ranks, as schedule.h describes it.
  bool is_canonical(int rank) const;

 private:
  static constexpr int kNothing = -1;
  using Set = std::vector<std::uint64_t>;  ///< a bit a rank
  struct Node {
    int left;  ///< kNothing in a single contribution, which is the rank that the node's number says
    int right;
    int lowest;  ///< rank in the set
    int order;   ///< the first node that was summed in the same order
    Set ranks;
  };
  using Sums = std::unordered_map<std::int64_t, int>;  ///< of two nodes

  static std::int64_t key_of(int left, int right) { return (static_cast<std::int64_t>(left) << 32) | right; }
  const Set& set_of(int rank) const { return nodes_[at(values_[at(rank)])].ranks; }
  /// The two operands, the one with the lower rank first.
  std::pair<int, int> ordered(int a, int b) const;
  bool has_all_of(int a, int b) const;
  int order_of(int node) const { return nodes_[at(node)].order; }
  int sum_of(int a, int b, bool is_stored);

  bool is_barrier_;  ///< in which a value that brings nothing new changes nothing
  std::vector<Node> nodes_;
  Sums stored_;
  Sums within_;              ///< others of the same step
  Sums orders_;              ///< of two orders
  std::vector<int> values_;  ///< of each rank, a node
  Set all_;
};

}  // namespace lockstep
