#include "bench/refit.h"

#include "algorithms/catalog.h"
#include "bench/calibration_points.h"
#include "bench/held_back.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace lockstep::bench {

namespace {

/// Those that predictions are made from or held against, each with its schedule.
std::vector<Sample> fitted(const std::vector<Sample>& samples) {
  const std::vector<Collective>& collectives = fitted_collectives();
  std::map<std::tuple<Collective, std::string, int>, std::shared_ptr<const HostJob>> jobs;
  std::vector<Sample> some;
  for (Sample sample : samples) {
    if (sample.memory != MemoryKind::kRegistered) continue;
    if (std::find(collectives.begin(), collectives.end(), sample.collective) == collectives.end()) continue;
    auto& job = jobs[{sample.collective, sample.algorithm, sample.ranks}];
    if (!job) {
      job = std::make_shared<const HostJob>(
          find_algorithm(sample.algorithm).build({.collective = sample.collective, .ranks = sample.ranks}));
    }
    sample.job = job;
    some.push_back(std::move(sample));
  }
  return some;
}

int most_ranks(const std::vector<Sample>& samples) {
  int most = 0;
  for (const Sample& sample : samples) most = std::max(most, sample.ranks);
  return most;
}

std::function<double(const Sample&)> fitted_model(const Calibration& calibration, Medium medium,
                                                  const std::vector<Sample>& known) {
  if (medium == Medium::kTcp) {
    return [model = fit_tcp(known, calibration.machine.cores)](const Sample& sample) {
      return model.predict(TcpJob(sample.job->schedule), sample.bytes);
    };
  }
  return [model = fit(known, calibration.machine), machine = calibration.machine](const Sample& sample) {
    return model.predict(*sample.job, {sample.bytes}, machine);
  };
}

std::vector<Prediction> predictions_of(const std::vector<Sample>& samples, const Corrected& corrected) {
  std::vector<Prediction> predictions;
  predictions.reserve(samples.size());
  for (const Sample& sample : samples) predictions.push_back({sample, corrected(sample)});
  return predictions;
}

}  // namespace

Refit refit(const Calibration& calibration, Medium medium) {
  const bool is_tcp = medium == Medium::kTcp;
  const std::vector<Sample> samples = fitted(is_tcp ? calibration.tcp.samples : calibration.samples);
  Measured measured = parted(samples, Numbers(most_ranks(samples)));
  predict(measured, fitted_model(calibration, medium, measured.known));
  const auto memory_of = is_tcp ? std::nullopt : std::optional(calibration.machine);
  const Corrected corrected = corrected_by(measured.known, memory_of);
  return {.held_back = errors_of_held_back(measured, memory_of),
          .sizes = predictions_of(measured.other_sizes, corrected),
          .ranks = predictions_of(measured.other_ranks, corrected)};
}

}  // namespace lockstep::bench
