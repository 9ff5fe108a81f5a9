#include "planner/host_model.h"

#include "planner/count.h"
#include "transport/shm/letterbox.h"

#include <lockstep/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {

namespace {

enum Feature : std::size_t { kOperation, kOwnTurn, kSharedTurn, kMove, kAccessed, kLetterTurn, kLetterByte, kHeld };
static_assert(kHeld == HostModel::kOtherFeatures);
constexpr std::size_t kFetched = kHeld + HostModel::kLevels - 1;

/// How much of each level's price applies to a working set: 1 in all, two levels between their sizes.
std::array<double, HostModel::kLevels> shares_of_levels(double working_set, const Machine& machine) {
  const double own = std::max(64.0 * 1024, machine.cache_bytes_a_core * machine.cores);
  const double shared = std::max(2 * own, machine.cache_bytes_shared);
  const std::array<double, HostModel::kLevels> sizes{own / 2, shared / 2, shared, 4 * shared};
  std::array<double, HostModel::kLevels> shares{};
  if (working_set <= sizes.front()) {
    shares.front() = 1;
  } else if (working_set >= sizes.back()) {
    shares.back() = 1;
  } else {
    std::size_t above = 1;
    while (sizes[above] < working_set) ++above;
    const double place = std::log(working_set / sizes[above - 1]) / std::log(sizes[above] / sizes[above - 1]);
    shares[above] = place;
    shares[above - 1] = 1 - place;
  }
  return shares;
}

using Row = HostModel::Features;

/// The costs, 0 or above, whose sum over the columns comes nearest to 1 in every row, by least squares with a weight a
/// row.
Row nonnegative_least_squares(const std::vector<Row>& rows, const std::vector<double>& weights) {
  constexpr std::size_t kCount = HostModel::kFeatures;
  std::array<Row, kCount> products{};
  Row targets{};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < kCount; ++i) {
      targets[i] += weights[r] * rows[r][i];
      for (std::size_t j = 0; j < kCount; ++j) products[i][j] += weights[r] * rows[r][i] * rows[r][j];
    }
  }
  // Coordinate descent with every cost held at 0 or above; convex, so it ends at the best one.
  Row found{};
  constexpr int kRounds = 200000;
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (products[i][i] <= 0) continue;
      double slope = targets[i];
      for (std::size_t j = 0; j < kCount; ++j) slope -= products[i][j] * found[j];
      const double next = std::max(0.0, found[i] + slope / products[i][i]);
      moved = std::max(moved, std::abs(next - found[i]));
      found[i] = next;
    }
    if (moved < 1e-12) break;
  }
  return found;
}

double product(const Row& a, const Row& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

}  // namespace

double HostModel::predict(const Features& features) const { return product(seconds, features); }

HostModel::Features features_of(const HostJob& job, double bytes, const Machine& machine) {
  HostModel::Features features{};
  const HostWork& work = job.work;
  features[kOperation] = 1;
  const int ranks = job.schedule.ranks;
  const bool own_core = ranks <= machine.cores;
  if (work.is_one_exchange && bytes <= static_cast<double>(shm::Letterbox::kBytes)) {
    features[own_core ? kLetterTurn : kSharedTurn] = work.turns;
    const int ranks_on_a_core = (ranks + machine.cores - 1) / machine.cores;
    features[kLetterByte] = bytes * ranks_on_a_core * (ranks - 1);
    return features;
  }
  features[own_core ? kOwnTurn : kSharedTurn] = work.turns;
  features[kMove] = work.moves;
  const auto shares = shares_of_levels(bytes * ranks * (work.is_staged ? 2 : 1), machine);
  const double one_chunk_bytes = chunk_bytes(job.schedule, bytes);
  features[kAccessed] = work.chunks_accessed * one_chunk_bytes;
  for (std::size_t level = 0; level < shares.size(); ++level) {
    if (level > 0) features[kHeld + level - 1] = work.chunks_held * one_chunk_bytes * shares[level];
    features[kFetched + level] = work.chunks_fetched * one_chunk_bytes * shares[level];
  }
  return features;
}

HostModel fit(const std::vector<HostSample>& samples) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate by.");
  Row scale{};  // so that costs of very different size are found equally well
  for (const HostSample& sample : samples) {
    for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::max(scale[i], sample.features[i] / sample.seconds);
  }
  std::vector<Row> rows;  // of the share that each cost has in the time: the errors are relative
  rows.reserve(samples.size());
  for (const HostSample& sample : samples) {
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = scale[i] > 0 ? sample.features[i] / sample.seconds / scale[i] : 0;
    }
  }
  // Least squares with the errors of the time before as weights end at the least sum of errors.
  constexpr int kReweighted = 12;
  constexpr double kSmallError = 0.03;
  std::vector<double> weights(rows.size(), 1);
  Row found{};
  for (int round = 0; round < kReweighted; ++round) {
    found = nonnegative_least_squares(rows, weights);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      weights[r] = kSmallError / std::max(kSmallError, std::abs(product(rows[r], found) - 1));
    }
  }
  HostModel model;
  for (std::size_t i = 0; i < found.size(); ++i) model.seconds[i] = scale[i] > 0 ? found[i] / scale[i] : 0;
  return model;
}

PredictionError error_of(const HostModel& model, const std::vector<HostSample>& samples) {
  std::vector<double> errors;
  errors.reserve(samples.size());
  for (const HostSample& sample : samples) {
    errors.push_back(std::abs(model.predict(sample.features) - sample.seconds) / sample.seconds);
  }
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {errors[errors.size() / 2], errors.back()};
}

}  // namespace lockstep
