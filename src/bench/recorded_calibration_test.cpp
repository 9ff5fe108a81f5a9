// What predictions and the choices made by them are held to, on readings of a real machine: tests/calibrations/ has
// what `lockstep calibrate -n 4` (492420e, 2026-12-02) measured of registered memory and over TCP on two shared cores
// of an AMD EPYC (family 25, model 1), with the numbers of its JSON to four digits. Sizes between those that are known,
// and 3 ranks, of which nothing is, are held back as the command does.
#include "algorithms/catalog.h"
#include "bench/held_back.h"
#include "bench/refit.h"
#include "planner/calibration/predicted_selection.h"
#include "planner/selection/measured_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::bench {

namespace {

constexpr double kMostMedian = 0.10;
constexpr double kMostWorst = 0.25;
constexpr double kMostMeanLoss = 0.03;
constexpr double kMostLoss = 0.10;

Machine recorded_machine() {
  return {.processor = "AMD EPYC",
          .cores = 2,
          .threads = 2,
          .memory_bytes = 25275990016.0,
          .cache_bytes_first = 32 << 10,
          .cache_bytes_a_core = 512 << 10,
          .cache_bytes_shared = 32 << 20};
}

/// Columns: medium, collective, algorithm, ranks, bytes, and what Sample calls seconds, error, other_state_s and
/// other_state_error.
Calibration recorded_calibration() {
  Calibration calibration{.machine = recorded_machine()};
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/calibrations/amd_epyc_25_1.tsv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string medium;
    std::string collective;
    Sample sample;
    words >> medium >> collective >> sample.algorithm >> sample.ranks >> sample.bytes >> sample.seconds >>
        sample.error >> sample.other_state_s >> sample.other_state_error;
    EXPECT_TRUE(words) << line;
    sample.collective = collective == "all_reduce" ? Collective::kAllReduce : Collective::kAllGather;
    (medium == "tcp" ? calibration.tcp.samples : calibration.samples).push_back(sample);
  }
  return calibration;
}

void expect_within_bars(const PredictionError& error, const std::string& what) {
  EXPECT_LE(error.median, kMostMedian) << what;
  EXPECT_LE(error.worst, kMostWorst) << what;
}

/// As `lockstep calibrate` would store it, had it measured nothing that is held back.
Calibration without_held_back(const Calibration& recorded) {
  Measured measured = parted(recorded.samples, Numbers(4));
  for (Sample& sample : measured.known) {
    sample.job = std::make_shared<const HostJob>(
        find_algorithm(sample.algorithm).build({.collective = sample.collective, .ranks = sample.ranks}));
  }
  Calibration calibration{.machine = recorded.machine, .shm = fit(measured.known, recorded.machine)};
  measured.other_sizes.clear();
  measured.other_ranks.clear();
  predict(measured, [&](const Sample& sample) {
    return calibration.shm.predict(*sample.job, {sample.bytes}, calibration.machine);
  });
  calibration.samples = std::move(measured.known);
  return calibration;
}

/// What is lost at each size by choosing so, beside the fastest that was measured there.
class Losses {
 public:
  /// Of what was measured of so many ranks.
  Losses(const std::vector<Sample>& samples, int ranks, const Selection& selection) {
    std::map<std::pair<Collective, double>, double> least;
    std::map<std::pair<Collective, double>, double> taken;
    for (const Sample& sample : samples) {
      if (sample.ranks != ranks) continue;
      const std::pair at(sample.collective, sample.bytes);
      const auto [best, is_first] = least.try_emplace(at, sample.seconds);
      best->second = std::min(best->second, sample.seconds);
      const std::string_view chosen =
          selection.select(sample.collective, static_cast<std::uint64_t>(sample.bytes), MemoryKind::kRegistered);
      if (chosen == sample.algorithm) taken[at] = sample.seconds;
    }
    EXPECT_EQ(taken.size(), least.size()) << "what is chosen was measured";
    for (const auto& [at, seconds] : taken) all_.push_back(seconds / least.at(at) - 1);
  }

  std::size_t sizes() const { return all_.size(); }
  double mean() const { return std::accumulate(all_.begin(), all_.end(), 0.0) / static_cast<double>(all_.size()); }
  double worst() const { return *std::max_element(all_.begin(), all_.end()); }

 private:
  std::vector<double> all_;
};

}  // namespace

TEST(RecordedCalibration, PredictsWhatWasHeldBackWithinTheBars) {
  const Calibration recorded = recorded_calibration();
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const Refit refitted = refit(recorded, medium);
    EXPECT_EQ(refitted.sizes.size(), 342U) << to_string(medium);
    EXPECT_EQ(refitted.ranks.size(), medium == Medium::kTcp ? 570U : 722U);
    expect_within_bars(refitted.held_back.sizes, std::string(to_string(medium)) + ", sizes");
    expect_within_bars(refitted.held_back.ranks, std::string(to_string(medium)) + ", 3 ranks");
  }
}

/// What is chosen for 3 ranks by what was measured of 2 and 4. At worst, all_reduces of 16 and 24 KiB by a tree where a
/// star took less, it is twice what may be lost where a number of ranks was measured.
TEST(RecordedCalibration, ChoosesForRanksThatWereNotMeasured) {
  const Calibration recorded = recorded_calibration();
  const Losses losses(recorded.samples, 3, predicted_selection(without_held_back(recorded), 3));
  EXPECT_EQ(losses.sizes(), 2U * 38);
  EXPECT_LE(losses.mean(), kMostMeanLoss);
  EXPECT_LE(losses.worst(), kMostWorst) << "as much as a prediction may be wrong by";
}

TEST(RecordedCalibration, ChoosesForSizesThatWereNotMeasured) {
  const Calibration recorded = recorded_calibration();
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const Measured measured = parted(medium == Medium::kTcp ? recorded.tcp.samples : recorded.samples, Numbers(4));
    for (const int ranks : {2, 4}) {
      const Selection built_in = built_in_selection(ranks, medium, {}, recorded.machine.cores);
      const Losses losses(measured.other_sizes, ranks, measured_selection(measured.known, ranks, built_in));
      EXPECT_EQ(losses.sizes(), 2U * 9);
      EXPECT_LE(losses.mean(), kMostMeanLoss);
      EXPECT_LE(losses.worst(), kMostLoss);
    }
  }
}

}  // namespace lockstep::bench
