#include "algorithms/catalog.h"
#include "base/environment.h"
#include "base/refuse.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/job_environment.h"
#include "cli/numbers.h"
#include "cli/schedule_argument.h"
#include "planner/calibration/in_force.h"
#include "topology/cpus.h"
#include "topology/host_id.h"
#include "transport/transports.h"

#include <fmt/format.h>
#include <lockstep/world.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::cli {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string answer_of(const NamedTransport& transport) {
  if (const auto why = transport.why_not_here(2)) return fmt::format("does not work here: {}", *why);
  return fmt::format("works here, between {}", transport.between);
}

/// What -n says; none where it is not given.
std::optional<int> parse_selected_ranks(const std::string& text) {
  constexpr int kMost = 1 << 20;
  if (text.empty()) return std::nullopt;
  const int ranks = parse_ranks(text);
  if (ranks <= kMost) return ranks;
  refuse(fmt::format("What auto stands for is printed for at most {} ranks; -n says {}.", format_count(kMost), ranks));
}

std::string build_and_machine() {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "lockstep {}\nhost       {}: {}\nhost id    {}\n", LOCKSTEP_VERSION, host_name(),
                 describe_topology(), host_id());
  text += "\nTransports\n";
  for (const NamedTransport& transport : named_transports()) {
    fmt::format_to(out, "  {:<8} {}\n", transport.name, answer_of(transport));
  }
  text += "\nAlgorithms\n";
  for (const Algorithm& algorithm : algorithms()) {
    fmt::format_to(out, "  {:<19} {}\n", algorithm.name, algorithm.description);
  }
  fmt::format_to(out, "  {:<19} {}\n", "hierarchical:A,B",
                 "any two of these that do an all_reduce: A within hosts, B between");
  fmt::format_to(out, "  {:<19} {}\n", "segmented:K:A",
                 "any of all these as a pipeline: K segments of each chunk follow each other through A's steps");
  fmt::format_to(out, "  {:<19} {}\n", kVendor,
                 "over MPI: what the library itself does, of which nothing is proved or priced");
  return text;
}

/// A collective a line, as LOCKSTEP_ALGORITHMS takes them too.
std::string lines_of(const Selection& selection) {
  std::string lines = selection.to_text();
  for (std::size_t end = lines.find("; "); end != std::string::npos; end = lines.find("; ", end)) {
    lines.replace(end, 2, ";\n  ");
  }
  return lines;
}

/// Of so many ranks on two hosts, the first of which has one more where they are odd.
std::string selection_on_two_hosts(int ranks, int cores) {
  const int first = (ranks + 1) / 2;
  std::vector<int> hosts(static_cast<std::size_t>(ranks), 1);
  std::fill_n(hosts.begin(), first, 0);
  return fmt::format("\nauto, on two hosts with {} and {}\n  {}\n", first,
                     counted(static_cast<std::uint64_t>(ranks - first), "rank"),
                     lines_of(selection_in_force(ranks, Medium::kTcp, hosts, job_calibration(), cores).selection));
}

/// As many as the ranks of a job that is started from here could use.
int cpus_to_start_on() { return environment(kCpusVariable) ? job_cpus() : available_cpus().threads; }

/// On one host of so many ranks, where none are asked for of as many as it has cores; and on two.
std::string selections(std::optional<int> asked) {
  std::string text;
  const auto out = std::back_inserter(text);
  if (const auto one = environment(kAlgorithmVariable); one && one != "auto") {
    if (one != kVendor) (void)find_algorithm(*one, kAlgorithmVariable);
    fmt::format_to(out, "\n{}: '{}' runs in place of what follows, in the collectives that it does\n",
                   kAlgorithmVariable, *one);
  }
  if (environment(kReductionVariable) == "canonical") {
    fmt::format_to(out,
                   "\n{}: of what follows sums run what goes along the canonical tree, and else another that does\n",
                   kReductionVariable);
  }
  const int ranks = asked.value_or(std::max(2, available_cpus().cores));
  const int cores = cpus_to_start_on();
  std::vector<std::pair<Medium, const char*>> media{{Medium::kSharedMemory, "shm"}, {Medium::kTcp, "tcp"}};
  // On one host nothing else asks for it.
  if (environment(kTransportVariable) == "mpi") media.emplace_back(Medium::kMpi, "mpi");
  for (const auto& [medium, name] : media) {
    const auto [selection, source] = selection_in_force(ranks, medium, {}, job_calibration(), cores);
    fmt::format_to(out, "\nauto, on {} over {} ({})\n  {}\n", counted(static_cast<std::uint64_t>(ranks), "rank"), name,
                   source, lines_of(selection));
  }
  constexpr int kTwoOnEach = 4;
  if (ranks > 1) text += selection_on_two_hosts(asked.value_or(kTwoOnEach), cores);
  return text;
}

std::string variables() {
  std::string text = "\nEnvironment\n";
  struct Variable {
    const char* name;
    const char* meaning;
  };
  constexpr std::array<Variable, 14> kVariables{
      {{kAlgorithmVariable, "what 'auto' stands for"},
       {kAlgorithmsVariable, "the same by size, as the text above"},
       {kTransportVariable, "what moves the bytes: auto, shm, tcp or mpi"},
       {kPortVariable, "where rank 0 listens over TCP, at MASTER_ADDR"},
       {kAddressVariable, "where this rank listens over TCP"},
       {kSecretDescriptorVariable, "descriptor that holds the job's secret, made by the launcher"},
       {kSecretFileVariable,
        "file that holds the job's secret where lockstep run made none; without one any user of this machine may join"},
       {kHostVariable, "host that this rank counts to, in place of the host id above"},
       {kMpiLibraryVariable, "where liblockstep-mpi.so is, if not beside the program or its libraries"},
       {kReductionVariable, "'canonical': sums along one tree, whatever runs"},
       {kTimeoutVariable, "how long an operation waits for its peers"},
       {kJoinTimeoutVariable, "how long ranks wait for each other at the start"},
       {kCpusVariable, "how many CPUs of this host its ranks may use together, as the launcher found"},
       {kJobVariable, "identity of the job, made by the launcher"}}};
  for (const auto& [name, meaning] : kVariables) {
    fmt::format_to(std::back_inserter(text), "  {:<22} {:<10} {}\n", name, environment(name).value_or("(unset)"),
                   meaning);
  }
  return text;
}

void info(const std::string& typed_ranks) {
  const std::optional<int> ranks = parse_selected_ranks(typed_ranks);
  check_job_environment();
  write_output("", build_and_machine() + selections(ranks) + variables());
}

}  // namespace

void add_info(Program& program) {
  CLI::App* command = program.app.add_subcommand("info", "Say what this build and this machine can do");
  auto ranks = std::make_shared<std::string>();
  command
      ->add_option("-n,--ranks", *ranks,
                   "Of how many ranks to print what auto stands for (default: one for each core, at least 2)")
      ->type_name("N");
  command->callback([ranks] { info(*ranks); });
}

}  // namespace lockstep::cli
