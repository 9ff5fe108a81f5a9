// lockstep-train: the ready-made trainings. `lockstep train` starts it, once for each rank.
#include "base/units.h"
#include "lab/options.h"
#include "lab/summary.h"
#include "lab/together.h"
#include "lab/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>
#include <lockstep/world.h>
#include <malloc.h>

#include <cstdio>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace lockstep;

/// Freed gradients stay with the process: given back to the system, they would be faulted in again at each iteration.
void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

std::string sentence_of(const std::exception& error) {
  constexpr const char* kNoMemory =
      "There is not enough memory: try a smaller --batch, --context, --width or --layers.";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kNoMemory;
  const auto* from_torch = dynamic_cast<const c10::Error*>(&error);
  if (from_torch == nullptr) return error.what();
  const std::string text = from_torch->what_without_backtrace();
  if (text.find("can't allocate memory") != std::string::npos) return kNoMemory;
  return "libtorch says: " + text.substr(0, text.find('\n'));
}

/// One sentence on stderr, whatever was thrown; the exit code.
int report(const std::exception& error) {
  if (dynamic_cast<const lab::FailedElsewhere*>(&error) == nullptr) {
    fmt::print(stderr, "lockstep-train: {}\n", sentence_of(error));
  }
  return lab::exit_code_of(error);
}

void announce(const lab::TextTask& task, lab::Journal& journal) {
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

/// The training that `arguments` ask for, on this rank of the world.
void train(const World& world, const std::vector<std::string>& arguments) {
  std::optional<lab::TextTask> task;
  std::optional<lab::Journal> journal;
  lab::together(world, [&] {
    task = lab::prepare_text(arguments);
    if (world.rank() != 0) return;
    const std::string command = fmt::format("lockstep-train text {}", fmt::join(arguments, " "));
    journal.emplace(task->options, lab::describe_run(*task, world.size(), command));
    announce(*task, *journal);
  });
  lab::TrainingTrace trace(world.rank());
  lab::TextOutcome outcome = lab::train_text(world, *task, trace, journal ? &*journal : nullptr);
  lab::together(world, [&] { trace.write(task->options.out); });
  lab::together(world, [&] {
    if (journal) lab::summarize(*task, outcome, trace, *journal);
  });
}

/// Does the work as one rank of the job, and says what went wrong; the exit code.
int run(const std::function<void(const World&)>& work) {
  try {
    const World world = World::from_env();
    try {
      work(world);
      return 0;
    } catch (const std::exception& error) {
      return report(error);  // while this rank is in the world still: see together()
    }
  } catch (const std::exception& error) {
    return report(error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  CLI::App app("Ready-made trainings in lockstep; started by `lockstep train`", "lockstep-train");
  lab::TextOptions defaults;
  lab::add_text_flags(*app.add_subcommand("text", "A GPT on characters or bytes of text"), defaults);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const Error usage(ErrorCode::kInvalidArgument, error.what());
    return run([&](const World& world) { lab::together(world, [&] { throw usage; }); });
  }
  return run([&](const World& world) { train(world, {argv + 2, argv + argc}); });
}
