#include "planner/host_model.h"

#include "planner/count.h"

#include <lockstep/error.h>

#include <algorithm>
#include <cmath>

namespace lockstep {

namespace {

enum Feature : std::size_t { kOperation, kSharedOperation, kStep, kSharedStep, kTransfer, kCopied };
static_assert(kCopied == HostModel::kOtherFeatures);
constexpr std::size_t kReduced = kCopied + HostModel::kLevels;

/// How much of each level's price applies to a working set: 1 in all, two levels between their sizes.
std::array<double, HostModel::kLevels> shares_of_levels(double working_set, const Machine& machine) {
  const double own = std::max(64.0 * 1024, machine.cache_bytes_a_core * machine.cores);
  const double shared = std::max(2 * own, machine.cache_bytes_shared);
  const std::array<double, HostModel::kLevels> sizes{own / 2, shared / 2, 2 * shared, 8 * shared};
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

/// What each core has to do in a step; ranks are dealt to cores in turn.
class CoreWork {
 public:
  explicit CoreWork(int cores) : bytes_(static_cast<std::size_t>(cores)), transfers_(bytes_.size()) {}

  void add(const Message& message, double chunk_bytes) {
    const std::size_t core = static_cast<std::size_t>(message.to) % bytes_.size();
    transfers_[core] += message.chunks;
    bytes_[core].first += (message.chunks - message.reduced_chunks) * chunk_bytes;
    bytes_[core].second += message.reduced_chunks * chunk_bytes;
  }

  /// Adds the busiest core's work to the features, and starts a new step.
  void end_step(HostModel::Features& features, const std::array<double, HostModel::kLevels>& shares) {
    std::pair<double, double> most;
    for (const auto& bytes : bytes_) {
      if (bytes.first + bytes.second > most.first + most.second) most = bytes;
    }
    features[kTransfer] += *std::max_element(transfers_.begin(), transfers_.end());
    for (std::size_t level = 0; level < shares.size(); ++level) {
      features[kCopied + level] += most.first * shares[level];
      features[kReduced + level] += most.second * shares[level];
    }
    std::fill(bytes_.begin(), bytes_.end(), std::pair(0.0, 0.0));
    std::fill(transfers_.begin(), transfers_.end(), 0.0);
  }

 private:
  std::vector<std::pair<double, double>> bytes_;  ///< copied, reduced
  std::vector<double> transfers_;
};

}  // namespace

double HostModel::predict(const Features& features) const {
  double total = 0;
  for (std::size_t i = 0; i < kFeatures; ++i) total += seconds[i] * features[i];
  return total;
}

HostModel::Features features_of(const Schedule& schedule, double bytes, const Machine& machine) {
  HostModel::Features features{};
  const int cores = std::max(1, std::min(machine.cores, schedule.ranks));
  const double further_ranks = std::ceil(static_cast<double>(schedule.ranks) / cores) - 1;
  const auto steps = static_cast<double>(schedule.steps.size());
  features[kOperation] = 1;
  features[kSharedOperation] = further_ranks;
  features[kStep] = steps;
  features[kSharedStep] = steps * further_ranks;
  const auto shares = shares_of_levels(bytes * schedule.ranks, machine);
  const double one_chunk_bytes = chunk_bytes(schedule, bytes);
  CoreWork work(cores);
  int step = 0;
  for (const Message& message : messages_of(schedule)) {
    if (message.step != step) work.end_step(features, shares);
    step = message.step;
    work.add(message, one_chunk_bytes);
  }
  work.end_step(features, shares);
  return features;
}

HostModel fit(const std::vector<HostSample>& samples) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate by.");
  constexpr std::size_t kCount = HostModel::kFeatures;
  std::array<std::array<double, kCount>, kCount> products{};
  HostModel::Features targets{};
  HostModel::Features scale{};  // so that costs of very different size are found equally well
  for (const HostSample& sample : samples) {
    for (std::size_t i = 0; i < kCount; ++i) scale[i] = std::max(scale[i], sample.features[i] / sample.seconds);
  }
  for (const HostSample& sample : samples) {
    HostModel::Features row{};
    for (std::size_t i = 0; i < kCount; ++i) {
      row[i] = scale[i] > 0 ? sample.features[i] / sample.seconds / scale[i] : 0;
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      targets[i] += row[i];  // all targets are 1: the errors are relative
      for (std::size_t j = 0; j < kCount; ++j) products[i][j] += row[i] * row[j];
    }
  }
  // Coordinate descent with every cost held at 0 or above; convex, so it ends at the best one.
  HostModel::Features found{};
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
  HostModel model;
  for (std::size_t i = 0; i < kCount; ++i) model.seconds[i] = scale[i] > 0 ? found[i] / scale[i] : 0;
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
