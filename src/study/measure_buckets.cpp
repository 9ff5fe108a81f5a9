#include "base/units.h"
#include "study/measure.h"
#include "study/medium.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::study {

namespace {

/// What the rounds of one point came to.
struct BucketRounds {
  std::vector<double> iteration_ms, exposed_ms, behind_ms, communication_ms, compute_ms, backward_ms;
  std::vector<BucketRecord> buckets;

  void add(const TrainingRun& run) {
    iteration_ms.push_back(run.iteration_ms());
    exposed_ms.push_back(run.exposed_ms());
    buckets = run.iterations.back().buckets;
  }
  void add_behind(const TrainingRun& run) {
    behind_ms.push_back(run.iteration_ms());
    communication_ms.push_back(run.least_exposed_ms());
    compute_ms.push_back(run.iteration_ms() - run.exposed_ms());
    backward_ms.push_back(std::max(0.0, run.phase("backward") - run.exposed_ms()));
  }
};

TrainingPlan plan_of(const StudyOptions& options, std::vector<std::string> flags,
                     const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return {.training = options.training,
          .flags = std::move(flags),
          .ranks = options.ranks,
          .iterations = options.iterations};
}

BucketPoint point_of(std::uint64_t bytes, const BucketRounds& rounds) {
  return {.bucket_bytes = bytes,
          .buckets = rounds.buckets,
          .iteration_ms = least(rounds.iteration_ms),
          .most_ms = *std::max_element(rounds.iteration_ms.begin(), rounds.iteration_ms.end()),
          .exposed_ms = least(rounds.exposed_ms),
          .behind_ms = least(rounds.behind_ms),
          .communication_ms = least(rounds.communication_ms)};
}

BucketSweep sweep_of(Workbench& workbench, const StudyOptions& options, const Medium& medium, std::string& title) {
  const std::vector<std::string> flags = training_flags(workbench, options);
  BucketRounds reference;
  std::vector<BucketRounds> rounds(options.sizes.size());
  for (int round = 1; round <= options.rounds; ++round) {
    const TrainingRun alone =
        workbench.train(plan_of(options, flags, {"--no-overlap", "--bucket-bytes", "1GiB"}), medium.network.get());
    title = describe_training(alone);
    reference.add_behind(alone);
    for (std::size_t i = 0; i < options.sizes.size(); ++i) {
      const std::string size = std::to_string(options.sizes[i]);
      rounds[i].add(workbench.train(plan_of(options, flags, {"--bucket-bytes", size}), medium.network.get()));
      rounds[i].add_behind(
          workbench.train(plan_of(options, flags, {"--bucket-bytes", size, "--no-overlap"}), medium.network.get()));
      workbench.say(fmt::format("{}, round {} of {}: buckets of {}, {} an iteration", medium.name, round,
                                options.rounds, format_bytes(options.sizes[i]),
                                format_seconds(rounds[i].iteration_ms.back() / 1000)));
    }
  }
  BucketSweep sweep{.medium = medium.name,
                    .shares_memory = medium.shares_memory(),
                    .ranks = options.ranks,
                    .compute_ms = least(reference.compute_ms),
                    .backward_ms = least(reference.backward_ms),
                    .link = medium.links.at(options.ranks),
                    .about = medium.about,
                    .model = medium.model,
                    .calibrated = medium.seen,
                    .points = {}};
  for (std::size_t i = 0; i < rounds.size(); ++i) sweep.points.push_back(point_of(options.sizes[i], rounds[i]));
  return sweep;
}

}  // namespace

BucketStudy measure_buckets(Workbench& workbench, const StudyOptions& options) {
  BucketStudy study{.command = options.command,
                    .training = {},
                    .how = describe_rounds(options, kLeastCommunication),
                    .skipped = {},
                    .sweeps = {}};
  for (const Medium& medium : media(workbench, options, study.skipped)) {
    study.sweeps.push_back(sweep_of(workbench, options, medium, study.training));
  }
  study.training += fmt::format(", on {}", counted(static_cast<std::uint64_t>(options.ranks), "rank"));
  return study;
}

}  // namespace lockstep::study
