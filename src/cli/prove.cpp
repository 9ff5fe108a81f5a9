#include "schedule/proof.h"

#include "algorithms/catalog.h"
#include "base/standard_streams.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/schedule_argument.h"
#include "schedule/promise.h"
#include "schedule/relabelled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::cli {

namespace {

/// Of an algorithm in place of the schedule, of ranks on these hosts.
Proof proof_of(std::string_view name, const Schedule& schedule, const std::vector<int>& hosts) {
  return prove(find_algorithm(name).build(
      {.collective = schedule.collective, .ranks = schedule.ranks, .root = schedule.root, .hosts = hosts}));
}

/// LOCALs that may be composed with the same GLOBALs.
struct Compositions {
  std::vector<std::string_view> locals;
  std::vector<std::string_view> globals;
};

std::vector<Compositions> canonical_compositions(const Schedule& schedule, const std::vector<int>& hosts) {
  std::vector<Compositions> found;
  const std::vector<std::string_view> parts = algorithms_for(schedule.collective);
  for (const std::string_view local : parts) {
    std::vector<std::string_view> globals;
    for (const std::string_view global : parts) {
      const Proof proof = proof_of(fmt::format("hierarchical:{},{}", local, global), schedule, hosts);
      if (proof.canonical) globals.push_back(global);
    }
    if (globals.empty()) continue;
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const Compositions& one) { return one.globals == globals; });
    if (same != found.end()) {
      same->locals.push_back(local);
    } else {
      found.push_back({{local}, std::move(globals)});
    }
  }
  return found;
}

/// Where hosts have different numbers of ranks, compositions have many chunks.
bool is_quick_to_compose(const std::vector<int>& hosts) {
  constexpr std::size_t kFewRanks = 17;
  const std::vector<std::vector<int>> ranks = ranks_of_hosts(hosts);
  return hosts.size() <= kFewRanks ||
         std::all_of(ranks.begin(), ranks.end(), [&](const auto& here) { return here.size() == ranks.front().size(); });
}

std::string admitted_compositions(const Schedule& schedule, const std::vector<int>& hosts) {
  if (!has_compositions(schedule.collective, hosts)) return "";
  if (!is_quick_to_compose(hosts)) {
    const auto pipeline = pipeline_of(schedule.name);
    const std::string name = pipeline ? pipeline->algorithm : schedule.name;
    const bool is_one = composition_of(name) && prove(schedule).canonical;
    return fmt::format(
        "It admits {}compositions that are proved canonical; to list them on hosts so different takes "
        "long.\n",
        is_one ? name + ", among other " : "");
  }
  std::string text;
  for (const Compositions& one : canonical_compositions(schedule, hosts)) {  // which round between the two levels
    text += fmt::format("It admits hierarchical:LOCAL,GLOBAL, but for these two types, of LOCAL {}; GLOBAL {}.\n",
                        fmt::join(one.locals, ", "), fmt::join(one.globals, ", "));
  }
  return text;
}

/// Which algorithms a canonical reduction may run in place of the schedule, of ranks on these hosts.
std::string admitted(const Schedule& schedule, const std::vector<int>& hosts) {
  if (schedule.ranks > kMostRanksInOrders) {
    return fmt::format(
        "What canonical mode admits is listed for at most {} ranks: to prove every algorithm on more takes long.\n",
        kMostRanksInOrders);
  }
  std::vector<std::string_view> canonical;
  std::vector<std::string_view> in_16_bits;
  for (const std::string_view name : algorithms_for(schedule.collective)) {
    const Proof proof = proof_of(name, schedule, hosts);
    if (proof.canonical) canonical.push_back(name);
    if (proof.canonical_in_16_bits) in_16_bits.push_back(name);
  }
  std::string text = fmt::format("Canonical mode admits on {}: {}; of them for bfloat16 and float16: {}.\n",
                                 counted(static_cast<std::uint64_t>(schedule.ranks), "rank"),
                                 fmt::join(canonical, ", "), fmt::join(in_16_bits, ", "));
  return text + admitted_compositions(schedule, hosts) +
         "It admits pipelines of these too, segmented:K:ALGORITHM, which sum in the same order.\n";
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
