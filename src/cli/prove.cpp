#include "schedule/proof.h"

#include "algorithms/catalog.h"
#include "base/standard_streams.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/schedule_argument.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

namespace lockstep::cli {

namespace {

/// Which algorithms a canonical reduction may run in place of the schedule, of ranks on these hosts.
std::string admitted(const Schedule& schedule, const std::vector<int>& hosts) {
  if (schedule.ranks > kMostRanksInOrders) {
    return fmt::format(
        "What canonical mode admits is listed for at most {} ranks: to prove every algorithm on more takes long.\n",
        kMostRanksInOrders);
  }
  std::vector<std::string> canonical;
  std::vector<std::string> in_16_bits;
  for (const std::string& name : all_algorithms(schedule.collective, hosts)) {
    const Proof proof = prove(find_algorithm(name).build(
        {.collective = schedule.collective, .ranks = schedule.ranks, .root = schedule.root, .hosts = hosts}));
    if (proof.canonical) canonical.push_back(name);
    if (proof.canonical_in_16_bits) in_16_bits.push_back(name);
  }
  return fmt::format("Canonical mode admits on {}: {}; of them for bfloat16 and float16: {}.\n",
                     counted(static_cast<std::size_t>(schedule.ranks), "rank"), fmt::join(canonical, ", "),
                     fmt::join(in_16_bits, ", "));
}

std::string report(const Schedule& schedule, const Proof& proof, const std::vector<int>& hosts) {
  std::string text =
      fmt::format("Proved: {} for {} on {}: {}, {}, {}.\n", schedule.name, to_string(schedule.collective),
                  counted(static_cast<std::size_t>(schedule.ranks), "rank"),
                  counted(static_cast<std::size_t>(schedule.chunks), "chunk"), counted(schedule.steps.size(), "step"),
                  counted(static_cast<std::uint64_t>(transfers_of(schedule)), "transfer"));
  if (!proof.orders.empty()) text += "Order of summation, the same on every rank:\n";
  for (const SumOrder& order : proof.orders) {
    text += fmt::format("  chunk{} {}: {}\n", order.chunks.size() == 1 ? "" : "s", fmt::join(order.chunks, ", "),
                        order.expression);
  }
  if (sums_values(schedule.collective)) {
    text += proof.canonical
                ? "Canonical: each sum follows the binary tree over the ranks, as in every canonical schedule.\n"
                : "Not canonical: the sums follow other orders than the binary tree over the ranks.\n";
    text += admitted(schedule, hosts);
  }
  return text;
}

}  // namespace

void add_prove(Program& program) {
  CLI::App* command =
      program.app.add_subcommand("prove", "Prove that a schedule does what its collective promises, and cannot hang");
  auto options = std::make_shared<ScheduleArgument>();
  options->add_to(*command);
  command->footer("Exit code 0: proved. 1: refused, with the step, chunk and rank, and why.");
  command->callback([&program, options] {
    const Schedule schedule = options->load();
    const Proof proof = prove(schedule);
    if (proof.proved()) return write_output("", report(schedule, proof, options->hosts(schedule.ranks)));
    say_error(fmt::format("lockstep: The schedule '{}' is refused: {}\n", schedule.name, describe(*proof.refusal)));
    program.exit_code = 1;
  });
}

}  // namespace lockstep::cli
