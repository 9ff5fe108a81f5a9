#pragma once

#include "schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace lockstep {

/// Whose contributions every rank holds of every chunk, for pictures: a set a cell, without the order of the sums (that
/// is Holdings'). A schedule that would be refused is followed all the same; a contribution counted twice shows once.
class Board {
 public:
  /// As the collective begins: who contributes holds its own. The schedule is in range.
  explicit Board(const Schedule& schedule);

  /// Carries a step out. What moves is what its source held when the step began.
  void carry_out(const Step& step);

  bool holds(int rank, int chunk) const { return !contributions(rank, chunk).empty(); }
  /// Has all that anybody contributes to the chunk.
  bool is_complete(int rank, int chunk) const;
  /// In ascending order.
  std::vector<int> contributions(int rank, int chunk) const;
  /// Everybody who contributes to the chunk, in ascending order.
  const std::vector<int>& contributors(int chunk) const { return contributors_[static_cast<std::size_t>(chunk)]; }

 private:
  std::uint64_t* cell(int rank, int chunk);
  const std::uint64_t* cell(int rank, int chunk) const;

  int ranks_;
  std::size_t words_;                ///< of 64 ranks each, in a cell
  std::vector<std::uint64_t> bits_;  ///< cells, chunk by chunk
  std::vector<std::vector<int>> contributors_;
};

}  // namespace lockstep
