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

/// How many chunks the rank with the most work sends and combines.
double most_chunks(const Schedule& schedule) {
  const double a_chunk_each = schedule.chunks;
  double most = 0;
  for (const Counts::Rank& rank : count(schedule, a_chunk_each).by_rank)
    most = std::max(most, rank.sent_bytes + rank.reduced_bytes);
  return most;
}

}  // namespace

const Canonical::Known& Canonical::look_at(const std::string& name, const Task& task) {
  const std::tuple key{name, task.collective, task.root};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const Schedule schedule = schedules_.whole(name, task.collective, task.root);
  const Proof proof = prove(schedule);
  const Known known{.canonical = proof.canonical,
                    .canonical_in_16_bits = proof.canonical_in_16_bits,
                    .steps = static_cast<double>(schedule.steps.size()),
                    .most_of_buffer = most_chunks(schedule) / schedule.chunks};
  return known_.emplace(key, known).first->second;
}

bool Canonical::admits(const std::string& name, const Task& task) {
  if (name == kVendor) return false;  // nobody knows in which order it sums
  const Known& known = look_at(name, task);
  return is_16_bit(task.buffer.dtype) ? known.canonical_in_16_bits : known.canonical;
}

/// In bytes: what the rank with the most work sends and combines, and a step is worth as much as kStep of them.
double Canonical::rough_cost(const std::string& name, const Task& task) {
  constexpr double kStep = 16 << 10;
  const Known& known = look_at(name, task);
  return known.steps * kStep + known.most_of_buffer * static_cast<double>(task.buffer.bytes());
}

std::string Canonical::cheapest_admitted(const Task& task) {
  std::string cheapest;
  double least = std::numeric_limits<double>::infinity();
  for (const Algorithm& algorithm : algorithms()) {
    std::string name(algorithm.name);
    if (!algorithm.supports(task.collective) || !admits(name, task)) continue;
    const double cost = rough_cost(name, task);
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
                          rank_, to_string(collective), kMostRanks, ranks),
              {.rank = rank_, .operation = std::string(to_string(collective))});
}

std::string Canonical::choose(const Task& task, std::string_view asked, MemoryKind memory) {
  std::string name = schedules_.resolve(asked, task.collective, task.common_bytes(), memory);
  if (!sums_values(task.collective)) return name;
  require_provable(task.collective);
  if (admits(name, task)) return name;
  std::string instead = cheapest_admitted(task);
  const bool is_by_variable = environment(kAlgorithmVariable).value_or("auto") == name;
  if (asked == "auto" && !is_by_variable) return instead;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("Rank {}: {}: '{}'{} does not sum {} along the canonical tree; ask for auto, or for one that "
                          "does, as '{}'.",
                          rank_, to_string(task.collective), name,
                          asked == "auto" ? fmt::format(", which {} asks for,", kAlgorithmVariable) : "",
                          to_string(task.buffer.dtype), instead),
              {.rank = rank_, .operation = std::string(to_string(task.collective))});
}

Reduction reduction_from_environment() {
  const std::string text = environment(kReductionVariable).value_or("fast");
  if (text == "fast") return Reduction::kFast;
  if (text == "canonical") return Reduction::kCanonical;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} is '{}'. {}", kReductionVariable, text, suggestion(text, {"fast", "canonical"})));
}

}  // namespace lockstep::detail
