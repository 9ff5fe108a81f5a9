#include "algorithms/catalog.h"
#include "base/environment.h"
#include "cli/command.h"
#include "cli/schedule_argument.h"
#include "planner/calibration/in_force.h"
#include "topology/cpus.h"
#include "topology/host_id.h"
#include "transport/transports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
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

std::string info() {
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
  if (const auto one = environment(kAlgorithmVariable); one && one != "auto") {
    if (one != kVendor) (void)find_algorithm(*one);
    fmt::format_to(out, "\n{}: '{}' runs in place of what follows, in the collectives that it does\n",
                   kAlgorithmVariable, *one);
  }
  const int ranks = std::max(2, available_cpus().cores);
  for (const auto& [medium, name] : {std::pair(Medium::kSharedMemory, "shm"), std::pair(Medium::kTcp, "tcp")}) {
    const auto [selection, source] = selection_in_force(ranks, medium);
    fmt::format_to(out, "\nauto, on {} ranks over {} ({})\n  {}\n", ranks, name, source, selection.to_text());
  }
  const std::vector<int> two_hosts{0, 0, 1, 1};
  fmt::format_to(out, "\nauto, on two hosts with as many ranks each\n  {}\n",
                 selection_in_force(4, Medium::kTcp, two_hosts).selection.to_text());
  text += "\nEnvironment\n";
  struct Variable {
    const char* name;
    const char* meaning;
  };
  constexpr std::array<Variable, 13> kVariables{
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
       {kJobVariable, "identity of the job, made by the launcher"}}};
  for (const auto& [name, meaning] : kVariables) {
    fmt::format_to(out, "  {:<22} {:<10} {}\n", name, environment(name).value_or("(unset)"), meaning);
  }
  return text;
}

}  // namespace

void add_info(Program& program) {
  CLI::App* command = program.app.add_subcommand("info", "Say what this build and this machine can do");
  command->callback([] { write_output("", info()); });
}

}  // namespace lockstep::cli
