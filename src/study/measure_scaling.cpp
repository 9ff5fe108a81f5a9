#include "base/units.h"
#include "study/measure.h"
#include "study/medium.h"
#include "topology/cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::study {

namespace {

/// What the rounds of one training came to.
struct TrainingRounds {
  std::vector<double> iteration_ms, exposed_ms, forward_ms, backward_ms;
  std::vector<BucketRecord> buckets;

  void add(const TrainingRun& run) {
    iteration_ms.push_back(run.iteration_ms());
    exposed_ms.push_back(run.exposed_ms());
    forward_ms.push_back(run.phase("forward"));
    backward_ms.push_back(run.phase("backward"));
    buckets = run.iterations.back().buckets;
  }
};

class Scaling {
 public:
  Scaling(Workbench& workbench, const StudyOptions& options)
      : workbench_(workbench), options_(options), flags_(training_flags(workbench, options)) {}

  ScalingStudy run() {
    study_.command = options_.command;
    study_.how = describe_rounds(options_, "An all-reduce alone is the best of the rounds' medians.");
    study_.cores = available_cpus().cores;
    const auto all = media(workbench_, options_, study_.skipped);
    train(all);
    for (std::size_t i = 0; i < all.size(); ++i) study_.sweeps[i].collectives = collectives(all[i]);
    return std::move(study_);
  }

 private:
  TrainingRun train_once(int ranks, const Medium& medium) {
    TrainingRun run = workbench_.train(
        {.training = options_.training, .flags = flags_, .ranks = ranks, .iterations = options_.iterations},
        ranks > 1 ? medium.network.get() : nullptr);
    workbench_.say(fmt::format("{}: {} an iteration on {}", ranks > 1 ? medium.name : "alone",
                               format_seconds(run.iteration_ms() / 1000),
                               counted(static_cast<std::uint64_t>(ranks), "rank")));
    return run;
  }

  void train(const std::vector<Medium>& all) {
    TrainingRounds alone;
    std::map<std::pair<std::size_t, int>, TrainingRounds> rounds;
    for (int round = 0; round < options_.rounds; ++round) {
      const TrainingRun one = train_once(1, all.front());
      alone.add(one);
      study_.training = describe_training(one);
      for (std::size_t i = 0; i < all.size(); ++i) {
        for (int ranks = 2; ranks <= options_.ranks; ++ranks) {
          const TrainingRun run = train_once(ranks, all[i]);
          rounds[{i, ranks}].add(run);
          study_.gradient_bytes = static_cast<double>(run.iterations.back().bytes);
        }
      }
    }
    study_.alone = {least(alone.iteration_ms), least(alone.forward_ms), least(alone.backward_ms)};
    for (const Medium& medium : all) {
      study_.sweeps.push_back({.medium = medium.name,
                               .shares_memory = medium.shares_memory(),
                               .about = medium.about,
                               .links = medium.links,
                               .model = medium.model,
                               .calibrated = medium.seen,
                               .gradient_bytes = static_cast<double>(unseen(gradient(), medium)),
                               .collectives = {},
                               .trainings = {}});
    }
    for (const auto& [place, of] : rounds) {
      study_.sweeps[place.first].trainings.push_back({.ranks = place.second,
                                                      .iteration_ms = least(of.iteration_ms),
                                                      .exposed_ms = least(of.exposed_ms),
                                                      .buckets = of.buckets});
    }
  }

  std::uint64_t gradient() const { return static_cast<std::uint64_t>(study_.gradient_bytes); }

  std::vector<MeasuredCollective> collectives(const Medium& medium) {
    std::map<std::pair<std::string, int>, std::map<double, std::vector<double>>> seconds;
    for (int round = 1; round <= options_.rounds; ++round) {
      for (int ranks = 2; ranks <= options_.ranks; ++ranks) {
        for (const std::string& algorithm : options_.algorithms) {
          workbench_.say(
              fmt::format("{}, round {} of {}: {} on {} ranks", medium.name, round, options_.rounds, algorithm, ranks));
          const auto times = workbench_.measure(
              {.algorithm = algorithm, .ranks = ranks, .sizes = sizes_for(ranks, gradient(), options_, medium)},
              medium.network.get());
          for (const CollectiveTime& time : times) seconds[{algorithm, ranks}][time.bytes].push_back(time.seconds);
        }
      }
    }
    std::vector<MeasuredCollective> measured;
    for (const std::string& algorithm : options_.algorithms) {
      for (int ranks = 2; ranks <= options_.ranks; ++ranks) {
        for (const auto& [bytes, of] : seconds[{algorithm, ranks}])
          measured.push_back({algorithm, ranks, bytes, least(of)});
      }
    }
    return measured;
  }

  Workbench& workbench_;
  const StudyOptions& options_;
  std::vector<std::string> flags_;
  ScalingStudy study_;
};

}  // namespace

ScalingStudy measure_scaling(Workbench& workbench, const StudyOptions& options) {
  return Scaling(workbench, options).run();
}

}  // namespace lockstep::study
