#include "train/shares.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {
namespace {

constexpr double kUnits = 1 << 20;  // times a batch's samples, or its summed lengths, they fit into 64 bits

}  // namespace

Shares::Shares(int ranks) : before_(static_cast<std::size_t>(ranks) + 1) {
  std::iota(before_.begin(), before_.end(), std::uint64_t{0});
}

Shares::Shares(const std::vector<double>& weights) : before_(1) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const bool whole = sum <= kUnits && std::all_of(weights.begin(), weights.end(),
                                                  [](double weight) { return weight == std::floor(weight); });
  for (std::size_t rank = 0; rank < weights.size(); ++rank) {
    const double weight = weights[rank];
    if (!(weight >= 0) || !(sum > 0) || !std::isfinite(sum)) {
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("Shares of a global batch are finite numbers of which none is negative and one is positive; "
                      "rank {}'s is {}, their sum {}.",
                      rank, weight, sum));
    }
    const auto units = static_cast<std::uint64_t>(std::llround(whole ? weight : weight / sum * kUnits));
    before_.push_back(before_.back() + std::max<std::uint64_t>(units, weight > 0 ? 1 : 0));
  }
}

double Shares::fraction(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return static_cast<double>(before_[r + 1] - before_[r]) / static_cast<double>(before_.back());
}

std::uint64_t Shares::begin(int rank, std::uint64_t amount) const {
  return amount * before_[static_cast<std::size_t>(rank)] / before_.back();
}

Shares shares_by_speed(const Shares& before, const std::vector<double>& work, const std::vector<double>& seconds) {
  double speeds = 0;  // of the ranks that had work, and their shares together
  double known = 0;
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    if (work[rank] <= 0) continue;
    if (!(seconds[rank] > 0) || !std::isfinite(seconds[rank])) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("Rank {} says that its samples took {} seconds; balance needs the time that it computed.",
                              rank, seconds[rank]));
    }
    speeds += work[rank] / seconds[rank];
    known += before.fraction(static_cast<int>(rank));
  }
  if (speeds == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "No rank was given a sample since shares were measured last: call balance after an epoch, or in it.");
  }
  std::vector<double> weights;
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    weights.push_back(work[rank] > 0 ? work[rank] / seconds[rank] / speeds * known
                                     : before.fraction(static_cast<int>(rank)));
  }
  return Shares(weights);
}

std::vector<std::size_t> cut_by_length(const std::vector<std::int64_t>& lengths, const Shares& shares) {
  const auto twice = 2 * static_cast<std::uint64_t>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  std::vector<std::size_t> cuts{0};
  std::size_t next = 0;
  std::uint64_t before = 0;  // twice the summed lengths of the samples before `next`
  for (int rank = 1; rank < shares.ranks(); ++rank) {
    const std::uint64_t end = shares.begin(rank, twice);
    // A sample goes to the rank in whose part its middle lies.
    while (next < lengths.size() && before + static_cast<std::uint64_t>(lengths[next]) <= end) {
      before += 2 * static_cast<std::uint64_t>(lengths[next++]);
    }
    cuts.push_back(next);
  }
  cuts.push_back(lengths.size());
  return cuts;
}

}  // namespace lockstep
