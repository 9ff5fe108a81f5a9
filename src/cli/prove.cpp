#include "schedule/proof.h"

#include "base/units.h"
#include "cli/command.h"
#include "cli/schedule_argument.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace lockstep::cli {

namespace {

std::string report(const Schedule& schedule, const Proof& proof) {
  std::size_t transfers = 0;
  for (const Step& step : schedule.steps) transfers += step.size();
  std::string text =
      fmt::format("Proved: {} for {} on {}: {}, {}, {}.\n", schedule.name, to_string(schedule.collective),
                  counted(static_cast<std::size_t>(schedule.ranks), "rank"),
                  counted(static_cast<std::size_t>(schedule.chunks), "chunk"), counted(schedule.steps.size(), "step"),
                  counted(transfers, "transfer"));
  if (!proof.orders.empty()) text += "Order of summation, the same on every rank:\n";
  for (const SumOrder& order : proof.orders) {
    text += fmt::format("  chunk{} {}: {}\n", order.chunks.size() == 1 ? "" : "s", fmt::join(order.chunks, ", "),
                        order.expression);
  }
  if (is_reduction(schedule.collective)) {
    text += proof.canonical
                ? "Canonical: each sum follows the binary tree over the ranks, as in every canonical schedule.\n"
                : "Not canonical: the sums follow other orders than the binary tree over the ranks.\n";
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
    if (proof.proved()) return write_output("", report(schedule, proof));
    fmt::print(stderr, "lockstep: The schedule '{}' is refused: {}\n", schedule.name, describe(*proof.refusal));
    program.exit_code = 1;
  });
}

}  // namespace lockstep::cli
