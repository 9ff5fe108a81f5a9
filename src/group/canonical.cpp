#include "group/canonical.h"

#include "algorithms/catalog.h"
#include "base/environment.h"
#include "base/nearest.h"
#include "planner/network/count.h"
#include "schedule/promise.h"
#include "schedule/proof.h"
#include "schedule/ranges.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace lockstep::detail {

namespace {

bool is_16_bit(DataType dtype) { return dtype == DataType::kBFloat16 || dtype == DataType::kFloat16; }

/// In bytes: what the rank with the most work sends and combines, and a step is worth as much as kStep of them.
double rough_cost(const Schedule& schedule, std::size_t bytes) {
  constexpr double kStep = 16 << 10;
  const Counts counts = count(schedule, static_cast<double>(bytes));
  double most = 0;
  for (const Counts::Rank& rank : counts.by_rank) most = std::max(most, rank.sent_bytes + rank.reduced_bytes);
  return static_cast<double>(counts.steps) * kStep + most;
}

}  // namespace

bool Canonical::admits(const std::string& name, const Task& task) {
  if (name == kVendor) return false;  // nobody knows in which order it sums
  const auto [known, is_new] = admitted_.try_emplace({name, task.collective, task.root, is_16_bit(task.buffer.dtype)});
  if (is_new) {
    const Proof proof = prove(schedules_.get(name, task.collective, task.root));
    known->second = is_16_bit(task.buffer.dtype) ? proof.canonical_in_16_bits : proof.canonical;
  }
  return known->second;
}

std::string Canonical::cheapest_admitted(const Task& task) {
  std::string cheapest;
  double least = std::numeric_limits<double>::infinity();
  for (const Algorithm& algorithm : algorithms()) {
    std::string name(algorithm.name);
    if (!algorithm.supports(task.collective) || !admits(name, task)) continue;
    const double cost = rough_cost(schedules_.get(name, task.collective, task.root), task.buffer.bytes());
    if (cost >= least) continue;
    least = cost;
    cheapest = std::move(name);
  }
  if (!cheapest.empty()) return cheapest;
  throw std::logic_error("no algorithm sums along the canonical tree");  // what sums all at once does
}

/// A proof that is refused for the number of ranks says nothing about the order of a sum.
void Canonical::require_provable(Collective collective) const {
  const int ranks = schedules_.ranks();
  if (!check_ranks({.ranks = ranks})) return;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("Rank {}: {}: a canonical reduction takes at most {} ranks, since its order is proved, and "
                          "this group has {}; ask for a fast one, or for smaller groups.",
                          rank_, to_string(collective), kMostRanks, ranks));
}

std::string Canonical::choose(const Task& task, std::string_view asked, MemoryKind memory) {
  std::string name = schedules_.resolve(asked, task.collective, task.common_bytes(), memory);
  if (!sums_values(task.collective)) return name;
  require_provable(task.collective);
  if (admits(name, task)) return name;
  std::string instead = cheapest_admitted(task);
  if (asked == "auto") return instead;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("Rank {}: {}: '{}' does not sum {} along the canonical tree; ask for auto, or for one that does, "
                  "as '{}'.",
                  rank_, to_string(task.collective), name, to_string(task.buffer.dtype), instead));
}

Reduction reduction_from_environment() {
  const std::string text = environment(kReductionVariable).value_or("fast");
  if (text == "fast") return Reduction::kFast;
  if (text == "canonical") return Reduction::kCanonical;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} is '{}'. {}", kReductionVariable, text, suggestion(text, {"fast", "canonical"})));
}

}  // namespace lockstep::detail
