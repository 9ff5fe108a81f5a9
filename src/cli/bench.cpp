#include "bench/bench.h"

#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/environment.h"
#include "base/nearest.h"
#include "base/refuse.h"
#include "base/units.h"
#include "bench/parts.h"
#include "cli/command.h"
#include "cli/job_environment.h"
#include "cli/numbers.h"
#include "cli/schedule_argument.h"
#include "launch/launcher.h"
#include "launch/program.h"
#include "schedule/promise.h"
#include "schedule/proof.h"
#include "schedule/ranges.h"
#include "schedule/relabelled.h"
#include "schedule/text.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/world.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::cli {

namespace {

/// What was typed, as it was typed.
struct BenchOptions {
  std::string collective;
  std::string ranks;
  std::string min_bytes;
  std::string max_bytes;
  std::string factor;
  std::string dtype;
  std::string op;
  std::string root;
  std::string algorithm;
  std::string schedule;
  std::string buffers;
  std::string transport;
  std::string min_time = "300ms";
  std::string format = "table";
  std::string output;
  std::string local_size;
  std::string cache_bytes;
  std::string groups;
  bool interleaved = false;
  bool cold = false;
};

/// The value of that name.
template <class T>
T parse_name(std::string_view what, const std::string& text, std::initializer_list<T> values) {
  std::vector<std::string_view> names;
  for (const T value : values) {
    if (to_string(value) == text) return value;
    names.push_back(to_string(value));
  }
  refuse(fmt::format("There is no {} '{}'. {}", what, text, suggestion(text, names)));
}

void check_word(std::string_view what, const std::string& text, const std::vector<std::string_view>& words) {
  for (const std::string_view word : words) {
    if (word == text) return;
  }
  refuse(fmt::format("There is no {} '{}'. {}", what, text, suggestion(text, words)));
}

std::uint64_t parse_factor(const std::string& text) {
  constexpr int kMostFactor = 1 << 30;
  if (const auto number = parse_between(text, 2, kMostFactor)) return static_cast<std::uint64_t>(*number);
  refuse(fmt::format("--factor takes a whole number from 2 up to {}; '{}' is not one.", kMostFactor, text));
}

/// Which only what sums values has.
ReduceOp parse_operator(const BenchOptions& typed, Collective collective) {
  if (typed.op.empty()) return ReduceOp::kSum;
  if (!sums_values(collective)) {
    refuse(fmt::format("--op is for what sums values, which {} does not; leave it out.", to_string(collective)));
  }
  return parse_name("operator", typed.op,
                    {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct});
}

std::string parse_algorithm(const BenchOptions& typed, Collective collective) {
  if (typed.algorithm.empty()) return typed.schedule.empty() ? "auto" : "";
  const bool is_word = typed.algorithm == "auto" || typed.algorithm == "all" || typed.algorithm == kVendor;
  if (!is_word) find_algorithm(typed.algorithm).require_support(collective);
  return typed.algorithm;
}

/// A schedule from a file.
struct FromFile {
  std::string text;
  int ranks = 0;
  int root = 0;
};

/// It must be one for the collective, and proved.
FromFile read_schedule(const std::string& file, Collective collective) {
  if (file.empty()) return {};
  std::error_code ignored;  // what cannot be looked at is no file either
  const auto status = std::filesystem::status(file, ignored);
  if (!std::filesystem::exists(status)) refuse(fmt::format("--schedule: there is no file '{}'.", file));
  if (!std::filesystem::is_regular_file(status)) refuse(fmt::format("--schedule: '{}' is not a file.", file));
  std::string text = read_file(file, kMostTextBytes + 1);
  const Schedule schedule = parse_schedule(text, file);
  if (schedule.collective != collective) {
    refuse(fmt::format("The schedule in {} is for {}, not for {}.", file, to_string(schedule.collective),
                       to_string(collective)));
  }
  require_proved(schedule);
  return {.text = std::move(text), .ranks = schedule.ranks, .root = schedule.root};
}

/// That of --root, else of the schedule, else rank 0.
int parse_wanted_root(const BenchOptions& typed, const FromFile& schedule, Collective collective, int ranks) {
  if (typed.root.empty()) return schedule.root;
  require_root(collective);
  const int root = parse_root(typed.root, ranks);
  if (schedule.ranks == 0 || schedule.root == root) return root;
  refuse(fmt::format("The schedule in {} has root {}, not {}; leave out --root.", typed.schedule, schedule.root, root));
}

/// How many ranks to start, in so many groups.
int parse_wanted_ranks(const BenchOptions& typed, const FromFile& schedule, int groups) {
  const int fitting = schedule.ranks * groups;
  if (typed.ranks.empty()) return fitting > 0 ? fitting : available_cpus().cores;
  const int ranks = parse_ranks(typed.ranks);
  if (fitting == 0 || fitting == ranks) return ranks;
  refuse(fmt::format("The schedule in {} is for {}{}, not {}; leave out -n.", typed.schedule,
                     counted(static_cast<std::uint64_t>(schedule.ranks), "rank"),
                     groups > 1 ? fmt::format(" in each of {} groups", groups) : "", ranks));
}

/// What moves the bytes between the ranks that this command starts or is one of.
std::string parse_transport(const std::string& typed) {
  if (!typed.empty()) {
    check_word("transport", typed, {"auto", "shm", "tcp", "mpi"});
    ::setenv(kTransportVariable, typed.c_str(), 1);
  }
  return environment(kTransportVariable).value_or("auto");
}

/// Of what a barrier has none.
void require_no_buffer(const BenchOptions& typed) {
  const std::pair<const char*, bool> all[] = {
      {"--min-bytes", !typed.min_bytes.empty()}, {"--max-bytes", !typed.max_bytes.empty()},
      {"--factor", !typed.factor.empty()},       {"--dtype", !typed.dtype.empty()},
      {"--buffers", !typed.buffers.empty()},     {"--cold", typed.cold}};
  for (const auto& [name, is_typed] : all) {
    if (is_typed) refuse(fmt::format("{} is of buffers, and a barrier has none; leave it out.", name));
  }
}

/// What is typed of the buffers, else what is usual.
void parse_buffers(const BenchOptions& typed, bench::Options& options) {
  if (options.collective == Collective::kBarrier) return require_no_buffer(typed);
  if (!typed.dtype.empty()) {
    options.dtype = parse_name("data type", typed.dtype,
                               {DataType::kFloat32, DataType::kFloat64, DataType::kBFloat16, DataType::kFloat16,
                                DataType::kInt32, DataType::kInt64, DataType::kUInt8});
  }
  options.min_bytes = typed.min_bytes.empty() ? std::max<std::uint64_t>(4, size_of(options.dtype))
                                              : parse_value("--min-bytes", typed.min_bytes, parse_bytes);
  if (!typed.max_bytes.empty()) options.max_bytes = parse_value("--max-bytes", typed.max_bytes, parse_bytes);
  if (!typed.factor.empty()) options.factor = parse_factor(typed.factor);
  options.cold = typed.cold;
  if (!typed.buffers.empty()) check_word("kind of buffers", typed.buffers, {"registered", "plain"});
  options.plain = typed.buffers == "plain";
}

void parse_groups(const BenchOptions& typed, bench::Options& options) {
  options.interleaved = typed.interleaved;
  if (typed.groups.empty()) {
    if (typed.interleaved) refuse("--interleaved says how --groups are made; give it a number of them.");
    return;
  }
  const auto groups = parse_between(typed.groups, 1, kMostRanks);
  if (!groups) {
    refuse(fmt::format("--groups takes a whole number from 1 to {}; '{}' is not one.", kMostRanks, typed.groups));
  }
  options.groups = static_cast<int>(*groups);
}

/// Whether all that runs is the library's beneath the transport.
bool wants_vendor(const bench::Options& options) {
  const std::string& name = options.algorithm;
  return name == kVendor || (name == "auto" && environment(kAlgorithmVariable) == kVendor);
}

/// What can be known before any of them is started, and else each would say.
void check_for_ranks(const bench::Options& options, int ranks) {
  (void)bench::sizes(options, ranks);
  const std::string& name = options.algorithm;
  if (name.empty() || name == "auto" || name == "all" || name == kVendor) return;
  (void)find_algorithm(name).build(
      {.collective = options.collective, .ranks = ranks, .root = options.root, .only_rank = 0});
}

struct Wanted {
  bench::Options options;
  std::string transport;  ///< or "auto"
  int ranks;              ///< to start, where this process is none
};

Wanted parse(const BenchOptions& typed) {
  if (typed.collective.empty()) {
    refuse("`lockstep bench` needs to know what to measure, as in: lockstep bench all_reduce -n 2");
  }
  bench::Options options;
  options.collective = parse_collective(typed.collective);
  parse_buffers(typed, options);
  options.op = parse_operator(typed, options.collective);
  if (!typed.cache_bytes.empty()) options.cache_bytes = parse_value("--cache-bytes", typed.cache_bytes, parse_bytes);
  options.min_time = parse_value("--min-time", typed.min_time, parse_duration);
  options.algorithm = parse_algorithm(typed, options.collective);
  FromFile schedule = read_schedule(typed.schedule, options.collective);
  parse_groups(typed, options);
  const int ranks = parse_wanted_ranks(typed, schedule, options.groups);
  if (!bench::in_a_job()) (void)bench::groups_of(options, ranks);  // those of a job are counted when it begins
  const int most_ranks = bench::in_a_job() ? kMostRanks : ranks;   // those of a job are not known yet
  options.root = parse_wanted_root(typed, schedule, options.collective, most_ranks / options.groups);
  options.schedule = std::move(schedule.text);
  check_word("format", typed.format, {"table", "json"});
  std::string transport = parse_transport(typed.transport);
  if (!typed.local_size.empty()) {
    const int local_size = parse_local_size(typed.local_size, most_ranks);
    if (!bench::in_a_job()) bench::require_alike(options, hosts_of_neighbours(ranks, local_size));
  }
  bench::check(options);
  if (!bench::in_a_job()) check_for_ranks(options, ranks / options.groups);
  require_writable(typed.output);
  return {.options = std::move(options), .transport = std::move(transport), .ranks = ranks};
}

/// Starts this program again, as the ranks of a job on this host.
int launch_ranks(const Program& program, int ranks) {
  LaunchOptions launch_options;
  launch_options.ranks = ranks;
  launch_options.command = {this_program()};
  launch_options.command.insert(launch_options.command.end(), program.words.begin(), program.words.end());
  launch_options.pass_through_rank = 0;
  launch_options.quiet_exit_code = 1;  // wrong results, and errors that their rank has printed
  return launch(launch_options);
}

/// Takes part in this process's world: of one, or of a launcher.
int measure(const bench::Options& options, const BenchOptions& typed) {
  if (!typed.local_size.empty()) bench::pretend_hosts(parse_local_size(typed.local_size, kMostRanks));
  const World world = World::from_env();
  if (!typed.local_size.empty()) (void)parse_local_size(typed.local_size, world.size());
  if (!typed.ranks.empty() && parse_ranks(typed.ranks) != world.size()) {
    refuse(fmt::format("-n says {}, but this process was started as one of {} ranks; leave out -n.", typed.ranks,
                       world.size()));
  }
  const bool print_rows = typed.format == "table" && typed.output.empty();
  const auto progress = [&](const bench::Result& so_far, const bench::Row* row) {
    if (print_rows) write_output("", row == nullptr ? table_heading(so_far) : table_row(*row, options));
  };
  const bench::Result result = bench::run(world, options, progress);
  if (world.rank() == 0) {
    if (print_rows) {
      write_output("", table_end(result));
    } else {
      write_output(typed.output, typed.format == "json" ? to_json(result) : to_table(result));
    }
  }
  world.barrier().wait();  // nobody leaves while another may still wait for it
  return result.wrong() > 0 ? 1 : 0;
}

void add_groups(CLI::App& command, BenchOptions& typed) {
  command
      .add_option("--groups", typed.groups,
                  "Split the ranks into so many groups, each of which measures while the others do (default: 1)")
      ->type_name("N");
  command.add_flag("--interleaved", typed.interleaved,
                   "Of N groups rank r is in group r modulo N (default: neighbours in number are together)");
}

}  // namespace

void add_bench(Program& program) {
  CLI::App* command = program.app.add_subcommand("bench", "Measure a collective, and check every result");
  auto typed = std::make_shared<BenchOptions>();
  command
      ->add_option("collective", typed->collective,
                   "all_reduce, reduce_scatter, all_gather, broadcast, reduce, gather, scatter, all_to_all or barrier")
      ->type_name("COLLECTIVE");
  command
      ->add_option("-n,--ranks", typed->ranks,
                   "Processes to start on this host (default: one for each core; under a launcher, its ranks)")
      ->type_name("N");
  command->add_option("--min-bytes", typed->min_bytes, "The smallest buffer of a rank (default: 4, or an element)")
      ->type_name("B");
  command->add_option("--max-bytes", typed->max_bytes, "The largest (default: 64MiB)")->type_name("B");
  command->add_option("--factor", typed->factor, "From one size to the next (default: 4)")->type_name("F");
  command->add_option("--dtype", typed->dtype, "float32 (default), float64, bfloat16, float16, int32, int64, uint8");
  command->add_option("--op", typed->op, "sum (default), mean, min, max, product");
  command->add_option("--root", typed->root, "Of broadcast, scatter, reduce and gather (default: 0, or the schedule's)")
      ->type_name("RANK");
  command->add_flag("--cold", typed->cold, "Rotate through buffers larger than the last-level cache");
  command
      ->add_option(
          "--cache-bytes", typed->cache_bytes,
          "What that cache holds, and copies exceed that tell how fast memory is (default: as the system says)")
      ->type_name("B");
  command->add_option(
      "--algorithm", typed->algorithm,
      "A name (`lockstep info` lists them), auto (default), vendor: over MPI the library's own, or all: "
      "each that has the collective, compositions too where hosts are several, and what auto loses on "
      "the best");
  command
      ->add_option("--schedule", typed->schedule,
                   "Run the schedule in this file, once it is proved; beside --algorithm")
      ->type_name("FILE");
  command->add_option("--buffers", typed->buffers, "registered (default): memory of the group; plain: any memory");
  command->add_option("--transport", typed->transport, "auto (default), shm, tcp, or mpi under mpirun");
  command
      ->add_option("--local-size", typed->local_size,
                   "Pretend that so many ranks, neighbours in number, are on each host (default: as it is)")
      ->type_name("RANKS");
  add_groups(*command, *typed);
  command->add_option("--min-time", typed->min_time, "Measure each algorithm at each size so long (default: 300ms)")
      ->type_name("TIME");
  command->add_option("--format", typed->format, "table (default) or json");
  command->add_option("-o,--output", typed->output, "Write to a file instead")->type_name("FILE");
  command->footer(
      "An iteration's time is the slowest rank's; median and p99 are over iterations.\n"
      "Exit code 1: a result was wrong, a schedule was refused, or ranks failed (by a signal: 128 and its number);\n"
      "2: it was asked for what cannot be.");
  command->callback([&program, typed] {
    const Wanted wanted = parse(*typed);
    const bool in_a_job = bench::in_a_job();
    if (!in_a_job && wanted.transport == "mpi") {
      refuse(
          "Over MPI it is mpirun that starts the ranks, as in: mpirun -n 2 lockstep bench all_reduce --transport mpi");
    }
    if (!in_a_job && wants_vendor(wanted.options)) {
      refuse(
          "'vendor' is the MPI library's own, as in: mpirun -n 2 lockstep bench all_reduce --transport mpi --algorithm "
          "vendor");
    }
    if (!in_a_job && wanted.ranks > 1) {
      check_job_environment();
      program.exit_code = launch_ranks(program, wanted.ranks);
    } else {
      program.exit_code = measure(wanted.options, *typed);
    }
  });
}

}  // namespace lockstep::cli
