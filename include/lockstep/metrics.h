#pragma once

#include <lockstep/group.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// Means over the samples of all ranks: of losses, accuracies, anything that each rank has a mean and a count of. Exact
/// with ranks of unequal shares, or of none.
///
///   lockstep::Metrics metrics(world, {"loss", "accuracy"});
///   for (auto& batch : loader->epoch()) metrics.add("loss", loss_of(batch), batch.samples);
///   for (const auto& [name, mean] : metrics.reduce()) ...
///
/// Not thread-safe.
class Metrics {
 public:
  /// Every rank gives the same names, in the same order. Local: only their number is compared, by reduce().
  Metrics(Group group, std::vector<std::string> names);

  /// A mean over `count` samples of this rank, since the last reduce(). A count of 0 adds nothing, whatever the mean.
  /// Throws Error (kInvalidArgument) for a name that was not given, and for a negative count. Local.
  void add(const std::string& name, double mean, std::int64_t count);

  /// The mean of each, in the order of the names, the same to the bit on all ranks, and starts anew. What no rank added
  /// is not a number. One all-reduce of 16 bytes a name, with its errors: kMismatch where ranks have different numbers
  /// of names. Collective and blocking.
  std::vector<std::pair<std::string, double>> reduce();

 private:
  Group group_;
  std::vector<std::string> names_;
  std::vector<double> sums_;  // of each name the sum, then of each the count
};

}  // namespace lockstep
