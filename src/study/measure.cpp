#include "study/measure.h"

#include "base/units.h"
#include "topology/cpus.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::study {

std::vector<std::string> training_flags(const Workbench& workbench, const StudyOptions& options) {
  std::vector<std::string> flags;
  if (options.training == "text") {
    // Many parameters of the same order, none a power of two, and little else to do at the end.
    flags = {"--layers", "6", "--width",         "192", "--heads",      "4", "--context", "32",
             "--batch",  "8", "--sample-length", "0",   "--eval-every", "0"};
    const bool has_data = std::any_of(options.flags.begin(), options.flags.end(),
                                      [](const std::string& flag) { return flag.starts_with("--data"); });
    if (!has_data) flags.insert(flags.end(), {"--data", workbench.sample_text().string()});
  }
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());
  return flags;
}

void check_input(Workbench& workbench, const StudyOptions& options) {
  workbench.check({.training = options.training, .flags = training_flags(workbench, options), .ranks = options.ranks});
}

double least(const std::vector<double>& rounds) {
  return rounds.empty() ? 0 : *std::min_element(rounds.begin(), rounds.end());
}

std::string describe_training(const TrainingRun& run) {
  return fmt::format("{}, {} parameters", run.title, format_count(run.parameters));
}

std::string describe_rounds(const StudyOptions& options, const std::string& communication) {
  const Machine machine = this_machine();
  return fmt::format(
      "Measured on {} of {}, one thread a rank: each iteration's time is the best of {}, all points in turn (other "
      "programs only ever add), of which each is the median of {}. {}",
      counted(static_cast<std::uint64_t>(machine.cores), "core"), machine.processor,
      counted(static_cast<std::uint64_t>(options.rounds), "round"),
      counted(static_cast<std::uint64_t>(options.iterations), "iteration"), communication);
}

}  // namespace lockstep::study
