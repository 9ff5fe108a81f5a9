#include "lab/classifier/run.h"

#include "base/units.h"
#include "lab/classifier/training.h"
#include "lab/settings_file.h"
#include "lab/steps.h"
#include "lab/summary.h"
#include "lab/together.h"

#include <fmt/format.h>

#include <optional>

namespace lockstep::lab {

namespace {

RunRecord describe_run(const ClassifierTask& task, const ClassifierTraining& training, int world_size,
                       const std::string& command) {
  RunRecord run = task.describe();
  run.command = command;
  run.world_size = world_size;
  run.parameters = training.parameters();
  run.iterations = training.updates();
  run.settings = describe_settings(task.settings());
  return run;
}

void announce(const ClassifierTask& task, const ClassifierTraining& training, Journal& journal) {
  const RunRecord& run = journal.run();
  journal.say(fmt::format("{}, {} parameters, {} rank{}, stage {}; {}", run.title, format_count(run.parameters),
                          run.world_size, run.world_size == 1 ? "" : "s", task.options().recipe.stage,
                          task.announcement()));
  if (training.done() > 0) {
    journal.say(fmt::format("going on from {} after {} iterations", task.options().resume, training.done()));
  }
  if (const std::string remark = task.remark(); !remark.empty()) journal.say(remark);
}

std::string result_of(const ClassifierOutcome& outcome, std::int64_t planned) {
  const Evaluation& best = outcome.best;
  std::string said = fmt::format("best accuracy {:.2f} % ({} of {}) at iteration {}", 100 * best.accuracy(),
                                 best.correct, best.examples, outcome.best_iteration);
  if (outcome.iterations < planned) {
    said += fmt::format("; stopped early, after {} of {} iterations", outcome.iterations, planned);
  }
  return said;
}

}  // namespace

void run_classifier(const World& world, const std::string& command,
                    const std::function<std::unique_ptr<ClassifierTask>()>& make) {
  std::unique_ptr<ClassifierTask> task;
  together(world, [&] {
    task = make();
    if (world.rank() == 0) require_writable(task->options().output);
  });
  const OutputOptions& output = task->options().output;
  check_algorithm(world, task->options().sharding.algorithm);
  ClassifierTraining training(world, *task);
  if (output.check) return;
  std::optional<Journal> journal;
  together(world, [&] {
    make_folder(output);  // not before all input was read: wrong input leaves nothing behind
    if (world.rank() != 0) return;
    const bool goes_on = !task->options().resume.empty();
    journal.emplace(output, describe_run(*task, training, world.size(), command), goes_on);
    write_settings(output, task->settings());
    announce(*task, training, *journal);
  });
  TrainingTrace trace(world.rank());
  const ClassifierOutcome outcome = training.run(trace, journal ? &*journal : nullptr);
  together(world, [&] { trace.write(output.folder()); });
  together(world, [&] {
    if (!journal) return;
    const Ending ending{.result = result_of(outcome, training.updates()),
                        .verdict = lockstep::describe(outcome.statistics),
                        .kept = ClassifierTraining::best_folder(output),
                        .memory = outcome.memory,
                        .seconds = outcome.seconds};
    summarize(output, ending, *journal);
    print_files(output, ending, trace);
  });
}

}  // namespace lockstep::lab
