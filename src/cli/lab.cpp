#include "algorithms/catalog.h"
#include "base/refuse.h"
#include "base/standard_streams.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/schedule_argument.h"
#include "cli/training_program.h"
#include "launch/program.h"
#include "report/writable.h"
#include "study/measure.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace lockstep::cli {

namespace {

namespace fs = std::filesystem;

/// What was typed, as it was typed.
struct LabOptions {
  std::string ranks;
  std::string training;
  std::vector<std::string> sizes;
  std::vector<std::string> algorithms;
  std::string rate;
  std::string page;
  std::string iterations = "12";
  std::string rounds = "3";
  bool no_link = false;
};

std::vector<std::uint64_t> parse_sizes(const std::vector<std::string>& typed) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : typed) {
    sizes.push_back(parse_value("--sizes", text, parse_bytes));
    if (sizes.back() < sizeof(float)) refuse(fmt::format("--sizes are at least 4 bytes; '{}' is not.", text));
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

/// Throws Error (kInvalidArgument) for a training that there is not, or that has no stages where a study sweeps them.
void check_training_of(const std::string& training, bool sweeps_stages) {
  check_training(training);
  if (sweeps_stages && training == "text") {
    refuse("The training text has no --stage to sweep: `lockstep lab sharding` takes --training sst2 or digits.");
  }
}

/// Of the link, in bytes a second; 0 for none.
double rate_of(const LabOptions& typed) {
  if (typed.no_link && !typed.rate.empty()) {
    refuse("--rate is of the link that --no-link leaves out; leave out one of the two.");
  }
  return typed.no_link ? 0 : parse_value("--rate", typed.rate.empty() ? "1Gbit/s" : typed.rate, parse_bandwidth);
}

/// The page can be written, once there is something to write.
void check_page(const fs::path& page) {
  const std::error_code obstacle = obstacle_of_replacing(page, page.parent_path());
  if (!obstacle) return;
  refuse(fmt::format("--out {} cannot be written: {}; name another file.", page.string(), obstacle.message()));
}

study::StudyOptions parse(const LabOptions& typed, const std::vector<std::string>& flags, const Program& program) {
  if (!flags.empty() && !flags.front().starts_with('-')) {
    refuse(fmt::format("'{}' is no flag of the training {}; `lockstep train {} --help` shows them.", flags.front(),
                       typed.training, typed.training));
  }
  if (std::find(flags.begin(), flags.end(), "--check") != flags.end()) {
    refuse("A study checks its training's flags and input by itself; leave out --check.");
  }
  study::StudyOptions options{.command = fmt::format("lockstep {}", fmt::join(program.words, " ")),
                              .training = typed.training,
                              .flags = flags,
                              .ranks = parse_ranks(typed.ranks),
                              .iterations = parse_count("--iterations", typed.iterations),
                              .rounds = parse_count("--rounds", typed.rounds),
                              .bytes_per_second = rate_of(typed),
                              .sizes = parse_sizes(typed.sizes),
                              .algorithms = typed.algorithms,
                              .page = typed.page};
  if (options.ranks < 2) refuse("A study of communication takes 2 ranks or more, as in: -n 2");
  for (const std::string& name : options.algorithms) {
    find_algorithm(name).require_support(Collective::kAllReduce);
  }
  check_page(options.page);
  return options;
}

/// Words for the terminal, and the page.
void show(const LabPage& page, const study::StudyOptions& options) {
  std::error_code error;  // of which writing the page speaks
  fs::create_directories(options.page.parent_path(), error);
  write_lab_page(page, options.page);
  std::string text;
  for (const std::string& paragraph : page.paragraphs) text += paragraph + "\n\n";
  for (const LabChart& chart : page.charts) text += fmt::format("{}: {}\n\n", chart.title, chart.words);
  write_output("", text + fmt::format("page  {}\n", options.page.string()));
}

/// Measures with `measure` and writes what page_of says of it.
template <class Measure>
int run(const study::StudyOptions& options, const Measure& measure) {
  const study::Programs programs{.lockstep = this_program(), .training = find_training_program()};
  try {
    study::Workbench workbench(programs, [](const std::string& line) { say_error(line + "\n"); });
    study::check_input(workbench, options);
    show(page_of(measure(workbench, options)), options);
    return 0;
  } catch (const study::Interrupted& interrupted) {
    say_error("lockstep: interrupted; no page was written.\n");
    return 128 + interrupted.signal();
  }
}

/// A study and its defaults.
struct Study {
  const char* name;
  const char* description;
  LabOptions defaults;
  bool has_sizes;
  bool has_algorithms;
  bool has_link;
  bool sweeps_stages;
  int (*run)(const study::StudyOptions& options);
};

std::vector<Study> studies() {
  const std::string most = std::to_string(std::max(4, available_cpus().cores));
  return {
      {"buckets",
       "Sweep bucket sizes: iteration time against bucket size, and the model's",
       {.ranks = "2",
        .training = "text",
        .sizes = {"64KiB", "256KiB", "1MiB", "4MiB", "16MiB"},
        .page = "runs/lab-buckets.html"},
       true,
       false,
       true,
       false,
       [](const study::StudyOptions& options) { return run(options, study::measure_buckets); }},
      {"scaling",
       "Sweep ranks and algorithms: measured against predicted, and the scaling efficiency",
       {.ranks = most,
        .training = "text",
        .sizes = {"256", "3KiB", "24KiB", "192KiB", "1536KiB"},
        .algorithms = {"ring", "direct", "recursive_doubling", "tree"},
        .page = "runs/lab-scaling.html"},
       true,
       true,
       true,
       false,
       [](const study::StudyOptions& options) { return run(options, study::measure_scaling); }},
      {"sharding",
       "Sweep stages 0 to 3: memory by kind, bytes and time against the formulas",
       {.ranks = "2", .training = "sst2", .page = "runs/lab-sharding.html"},
       false,
       false,
       false,
       true,
       [](const study::StudyOptions& options) { return run(options, study::measure_sharding); }},
  };
}

void add_study(CLI::App& lab, const Study& study, Program& program) {
  CLI::App* command = lab.add_subcommand(study.name, study.description);
  auto typed = std::make_shared<LabOptions>(study.defaults);
  command->add_option("-n,--ranks", typed->ranks, study.has_algorithms ? "The most ranks" : "Ranks")
      ->type_name("N")
      ->capture_default_str();
  const std::string trainings = study.sweeps_stages ? "sst2 or digits" : "text, sst2 or digits";
  command->add_option("--training", typed->training, trainings + ", as `lockstep train` has them")
      ->capture_default_str();
  if (study.has_sizes) {
    command
        ->add_option("--sizes", typed->sizes,
                     study.has_algorithms ? "Bytes of a message, with commas" : "Bytes of a bucket, with commas")
        ->delimiter(',')
        ->type_name("BYTES")
        ->capture_default_str();
  }
  if (study.has_algorithms) {
    command->add_option("--algorithms", typed->algorithms, "Algorithms, with commas")
        ->delimiter(',')
        ->type_name("NAMES")
        ->capture_default_str();
  }
  if (study.has_link) {
    command->add_option("--rate", typed->rate, "Of each rank's card on the shaped TCP link (default: 1Gbit/s)");
    command->add_flag("--no-link", typed->no_link, "Shared memory only");
  }
  command->add_option("--iterations", typed->iterations, "Of a training, after its warm-up")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--rounds", typed->rounds, "How often each point is measured, all points in turn")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--out", typed->page, "The page")->type_name("FILE")->capture_default_str();
  command->footer(
      "All other flags go to the training; `lockstep train WHAT --help` shows them. The shaped link takes network\n"
      "namespaces (root, or a user who may make user namespaces) and iproute2; without them it is left out.");
  command->allow_extras();
  command->callback([&program, command, typed, sweeps_stages = study.sweeps_stages, run = study.run] {
    check_training_of(typed->training, sweeps_stages);
    program.exit_code = run(parse(*typed, command->remaining(), program));
  });
}

}  // namespace

void add_lab(Program& program) {
  CLI::App* command = program.app.add_subcommand(
      "lab", "Run an experiment on this host, and draw what was measured beside what the model predicts");
  command->require_subcommand(1);
  for (const Study& study : studies()) add_study(*command, study, program);
}

}  // namespace lockstep::cli
