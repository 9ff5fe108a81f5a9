#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// What part of each global batch each rank gets. Integers inside, so that every rank and platform cuts alike.
class Shares {
 public:
  /// All the same.
  explicit Shares(int ranks);
  /// In proportion to `weights`, one a rank: whole numbers exactly, others to a millionth of their sum. Throws Error
  /// (kInvalidArgument) unless they are finite, none is negative and some are positive. A rank of weight 0 gets
  /// nothing, any other at least a millionth.
  explicit Shares(const std::vector<double>& weights);

  int ranks() const { return static_cast<int>(before_.size()) - 1; }
  /// Of the rank; they sum to 1.
  double fraction(int rank) const;
  /// Where the rank's part of `amount` begins; that of rank ranks() is `amount`. With equal shares amount r / p.
  std::uint64_t begin(int rank, std::uint64_t amount) const;

 private:
  std::vector<std::uint64_t> before_;  ///< sums of the weights before each rank, and of all
};

/// Measured shares: in proportion to the ranks' speeds, each `work[r]` in `seconds[r]`. A rank with no work, of which
/// nothing is known, keeps its share. Throws Error (kInvalidArgument), naming a rank, for a time that is not positive
/// and finite; or if no rank had work.
Shares shares_by_speed(const Shares& before, const std::vector<double>& work, const std::vector<double>& seconds);

/// Cuts samples, longest first, where the sums of their lengths come nearest to the shares: result[r] is rank r's first
/// sample, result[ranks] their number. A rank with longer samples gets fewer of them, so that the ranks' tensors, each
/// padded to its rank's longest, are of nearly equal size.
std::vector<std::size_t> cut_by_length(const std::vector<std::int64_t>& lengths, const Shares& shares);

}  // namespace lockstep
