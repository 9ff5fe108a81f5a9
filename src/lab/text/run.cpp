#include "lab/text/run.h"

#include "base/units.h"
#include "lab/settings_file.h"
#include "lab/steps.h"
#include "lab/summary.h"
#include "lab/text/sample.h"
#include "lab/text/settings_json.h"
#include "lab/text/training.h"
#include "lab/together.h"
#include "lab/utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

namespace lockstep::lab {

namespace {

RunRecord describe_run(const TextTask& task, int world_size, const std::string& command) {
  const TextSettings& settings = task.options.settings;
  RunRecord run;
  run.title = fmt::format("text: GPT, {} layers, {} wide", settings.model.layers, settings.model.width);
  run.command = command;
  run.world_size = world_size;
  run.parameters = static_cast<std::uint64_t>(parameter_count(settings.model));
  run.iterations = settings.iterations;
  run.settings = describe_settings(settings);
  return run;
}

void announce(const TextTask& task, Journal& journal) {
  const auto& model = task.options.settings.model;
  const RunRecord& run = journal.run();
  journal.say(fmt::format("{}, {} parameters, {} rank{}; text of {} tokens, {} different", run.title,
                          format_count(run.parameters), run.world_size, run.world_size == 1 ? "" : "s",
                          format_count(task.data.training.size() + task.data.validation.size()),
                          format_count(static_cast<std::uint64_t>(model.vocabulary))));
  if (task.checkpoint) {
    journal.say(fmt::format("going on from {} after {} iterations", task.options.resume, task.checkpoint->iteration()));
  }
}

std::string generate_sample(const TextTask& task, TextOutcome& outcome) {
  const TextOptions& options = task.options;
  if (options.sample_length == 0) return {};
  const auto tokens =
      generate(outcome.model, task.prompt,
               {.length = options.sample_length, .temperature = options.temperature, .seed = options.settings.seed});
  return printable(options.prompt + task.vocabulary.decode(tokens));
}

void tell_ending(const TextTask& task, TextOutcome& outcome, const TrainingTrace& trace, Journal& journal) {
  const OutputOptions& output = task.options.output;
  const Ending ending{.result = fmt::format("validation loss {:.4f}", outcome.validation_loss),
                      .verdict = lockstep::describe(outcome.statistics),
                      .sample = generate_sample(task, outcome),
                      .kept = checkpoint_path(task.options),
                      .memory = outcome.memory,
                      .seconds = outcome.seconds};
  summarize(output, ending, journal);
  if (!ending.sample.empty()) {
    fmt::print("\nsample (temperature {}):\n{}\n", task.options.temperature, ending.sample);
  }
  print_files(output, ending, trace);
}

}  // namespace

void run_text(const World& world, const std::vector<std::string>& arguments) {
  std::optional<TextTask> task;
  std::optional<Journal> journal;
  together(world, [&] { task = prepare_text(arguments); });
  check_algorithm(world, task->options.algorithm);
  if (task->options.output.check) return;
  together(world, [&] {
    make_folder(task->options.output);  // not before all input was read: wrong input leaves nothing behind
    if (world.rank() != 0) return;
    const std::string command = fmt::format("lockstep-train text {}", fmt::join(arguments, " "));
    const bool goes_on = task->checkpoint.has_value();
    journal.emplace(task->options.output, describe_run(*task, world.size(), command), goes_on);
    announce(*task, *journal);
  });
  TrainingTrace trace(world.rank());
  TextOutcome outcome = train_text(world, *task, trace, journal ? &*journal : nullptr);
  together(world, [&] { trace.write(task->options.output.folder()); });
  together(world, [&] {
    if (journal) tell_ending(*task, outcome, trace, *journal);
  });
}

}  // namespace lockstep::lab
