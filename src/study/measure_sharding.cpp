#include "base/units.h"
#include "study/measure.h"
#include "study/medium.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace lockstep::study {

namespace {

constexpr int kStages = 4;

TrainingRun train(Workbench& workbench, TrainingPlan plan, const std::vector<std::string>& more) {
  plan.flags.insert(plan.flags.end(), more.begin(), more.end());
  return workbench.train(plan);
}

}  // namespace

ShardingStudy measure_sharding(Workbench& workbench, const StudyOptions& options) {
  const Medium medium = shared_memory(workbench, options.ranks);
  ShardingStudy study{.command = options.command,
                      .training = {},
                      .how = describe_rounds(options, kLeastCommunication),
                      .about = medium.about,
                      .ranks = options.ranks,
                      .model = medium.model,
                      .calibrated = medium.seen,
                      .stages = {}};
  const TrainingPlan plan{.training = options.training,
                          .flags = training_flags(workbench, options),
                          .ranks = options.ranks,
                          .iterations = options.iterations};
  std::vector<double> compute_ms, update_ms;
  std::array<std::vector<double>, kStages> iteration_ms, communication_ms;
  study.stages.resize(kStages);
  for (int round = 1; round <= options.rounds; ++round) {
    const TrainingRun alone = train(workbench, plan, {"--stage", "0", "--no-overlap", "--bucket-bytes", "1GiB"});
    compute_ms.push_back(alone.iteration_ms() - alone.exposed_ms());
    update_ms.push_back(alone.phase("optimizer"));
    study.training = describe_training(alone);
    study.parameters = alone.parameters;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      const TrainingRun run = train(workbench, plan, {"--stage", std::to_string(stage), "--no-overlap"});
      iteration_ms[stage].push_back(run.iteration_ms());
      communication_ms[stage].push_back(run.least_exposed_ms());
      study.stages[stage].buckets = run.iterations.back().buckets;
      study.stages[stage].memory = run.memory;
      workbench.say(fmt::format("round {} of {}: stage {}, {} an iteration", round, options.rounds, stage,
                                format_seconds(run.iteration_ms() / 1000)));
    }
  }
  study.compute_ms = least(compute_ms);
  study.update_ms = least(update_ms);
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    study.stages[stage].stage = static_cast<int>(stage);
    study.stages[stage].iteration_ms = least(iteration_ms[stage]);
    study.stages[stage].communication_ms = least(communication_ms[stage]);
  }
  return study;
}

}  // namespace lockstep::study
