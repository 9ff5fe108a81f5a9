// lockstep-train: the ready-made trainings. `lockstep train` starts it, once for each rank.

#include "base/standard_streams.h"
#include "lab/digits/options.h"
#include "lab/digits/run.h"
#include "lab/sst2/options.h"
#include "lab/sst2/run.h"
#include "lab/text/options.h"
#include "lab/text/run.h"
#include "lab/together.h"
#include "lab/usage.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/world.h>
#include <malloc.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <functional>
#include <new>
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
  constexpr const char* kNoMemory = "There is not enough memory: try a smaller --batch or a smaller model.";
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
    say_error(fmt::format("lockstep-train: {}\n", sentence_of(error)));
  }
  return lab::exit_code_of(error);
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

/// A ready-made training: `lockstep train NAME`.
struct Training {
  const char* name;
  const char* description;
  void (*add_flags)(CLI::App& app);  ///< for --help and to find wrong ones early
  void (*run)(const World& world, const std::vector<std::string>& arguments);
};

/// Flags with the defaults of `Options`, which live as long as the program.
template <class Options, void (*add)(CLI::App&, Options&)>
void add_flags(CLI::App& app) {
  static Options defaults;
  add(app, defaults);
}

const std::array<Training, 3> kTrainings = {{
    {"text", "A GPT on characters or bytes of text", add_flags<lab::TextOptions, lab::add_text_flags>, lab::run_text},
    {"sst2", "DistilBERT that tells whether film reviews are positive",
     add_flags<lab::Sst2Options, lab::add_sst2_flags>, lab::run_sst2},
    {"digits", "A convolutional network that reads handwritten digits",
     add_flags<lab::DigitsOptions, lab::add_digits_flags>, lab::run_digits},
}};

}  // namespace

int main(int argc, char** argv) {
  ensure_standard_descriptors();
  ::signal(SIGXFSZ, SIG_IGN);  // a file larger than allowed is an error to be said, not our end
  keep_freed_memory();
  CLI::App app("Ready-made trainings in lockstep; started by `lockstep train`", "lockstep-train");
  for (const Training& training : kTrainings) {
    training.add_flags(*app.add_subcommand(training.name, training.description));
  }
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
    lab::require_numbers_that_fit(*app.get_subcommands().front());
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string typed = chosen.empty() ? "lockstep train" : "lockstep train " + chosen.front()->get_name();
    const Error usage(ErrorCode::kInvalidArgument,
                      lab::usage_sentence(chosen.empty() ? app : *chosen.front(), error, typed));
    return run([&](const World& world) { lab::together(world, [&] { throw usage; }); });
  }
  const std::string name = app.get_subcommands().front()->get_name();
  const auto* const training =
      std::find_if(kTrainings.begin(), kTrainings.end(), [&](const Training& one) { return one.name == name; });
  return run([&](const World& world) { training->run(world, {argv + 2, argv + argc}); });
}
