#pragma once

#include "schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// What every rank holds of one chunk while a schedule is executed on symbols: nothing, one rank's contribution, or a
/// sum of several. Chunks do not touch each other, so that each can be followed alone.
class Holdings {
 public:
  /// At the start: who contributes holds its own. Every rank contributes to a reduction, the owner to an
  /// all_gather, the root to a broadcast.
  Holdings(const Schedule& schedule, int chunk);

  /// Carries a transfer out: a copy replaces, a reduce adds (to nothing: replaces). A contribution counted twice shows
  /// once.
  void apply(const Transfer& transfer);

  bool holds(int rank) const { return values_[index(rank)] != kNothing; }
  /// Every contribution that the chunk is to have.
  bool is_complete(int rank) const;
  std::vector<int> contributions(int rank) const;
  /// A contribution that both ranks' values have.
  std::optional<int> shared_contribution(int a, int b) const;

  /// The order of the sum as it was made, as "((0+1)+2)".
  std::string expression(int rank) const;
  /// Equal for two ranks if one's value is a copy of the other's.
  int value(int rank) const { return values_[index(rank)]; }

 private:
  static constexpr int kNothing = -1;
  using Set = std::vector<std::uint64_t>;  ///< a bit a rank
  struct Node {
    int left;  ///< kNothing in a single contribution, which is the rank that the node's number says
    int right;
    Set ranks;
  };

  static std::size_t index(int value) { return static_cast<std::size_t>(value); }
  const Set& set_of(int rank) const { return nodes_[index(values_[index(rank)])].ranks; }

  std::vector<Node> nodes_;
  std::vector<int> values_;  ///< of each rank, a node
  Set all_;
};

/// Whether the collective promises this chunk to this rank.
bool must_end_with(const Schedule& schedule, int rank, int chunk);

}  // namespace lockstep
