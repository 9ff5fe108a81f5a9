#include "lab/summary.h"

#include "base/units.h"
#include "lab/sample.h"
#include "lab/utf8.h"
#include "report/html.h"

#include <fmt/format.h>

#include <cstdio>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

std::string generate_sample(const TextTask& task, TextOutcome& outcome) {
  const TextOptions& options = task.options;
  if (options.sample_length == 0) return {};
  const auto tokens =
      generate(outcome.model, task.prompt,
               {.length = options.sample_length, .temperature = options.temperature, .seed = options.settings.seed});
  return printable(options.prompt + task.vocabulary.decode(tokens));
}

void print_curve(const std::vector<IterationRecord>& records) {
  constexpr int kColumns = 78, kRows = 10;
  std::vector<double> losses;
  for (const IterationRecord& record : records) losses.push_back(record.loss);
  const auto display = Console::detect(stdout);
  fmt::print("\n{}", draw_curve(losses, std::min(kColumns, display.width), kRows,
                                {.unicode = display.unicode, .first = records.front().iteration}));
}

}  // namespace

RunRecord describe_run(const TextTask& task, int world_size, const std::string& command) {
  const TextSettings& settings = task.options.settings;
  RunRecord run;
  run.title = fmt::format("text: GPT, {} layers, {} wide", settings.model.layers, settings.model.width);
  run.command = command;
  run.world_size = world_size;
  run.parameters = static_cast<std::uint64_t>(parameter_count(settings.model));
  run.iterations = settings.iterations;
  run.settings = describe(settings);
  return run;
}

void summarize(TextTask& task, TextOutcome& outcome, const TrainingTrace& trace, Journal& journal) {
  const fs::path folder = task.options.out;
  const fs::path report = folder / "report.html", trace_file = folder / "trace.json";
  const RunRecord& run = journal.run();
  const auto& records = journal.records();
  journal.close();
  merge_traces(folder, run.world_size, trace_file);
  const std::string sample = generate_sample(task, outcome);
  write_report({run, records, sample, trace_file.filename().string(), outcome.seconds}, report);

  print_curve(records);
  fmt::print("\nloss {:.4f} at iteration {}, {:.4f} at iteration {}; validation loss {:.4f}\n", records.front().loss,
             records.front().iteration, records.back().loss, records.back().iteration, outcome.validation_loss);
  if (!sample.empty()) fmt::print("\nsample (temperature {}):\n{}\n", task.options.temperature, sample);
  fmt::print("\ncheckpoint  {}\n", checkpoint_path(task.options).string());
  fmt::print("report      {}\n", report.string());
  fmt::print("trace       {} ({}; opens at ui.perfetto.dev)\n", trace_file.string(), trace.extent());
  std::fflush(stdout);
}

}  // namespace lockstep::lab
