#include "group/canonical.h"

#include "algorithms/catalog.h"
#include "base/environment.h"
#include "base/nearest.h"
#include "schedule/proof.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <vector>

namespace lockstep::detail {

namespace {

bool sums(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

bool is_16_bit(DataType dtype) { return dtype == DataType::kBFloat16 || dtype == DataType::kFloat16; }

/// Whether no sum is ever added to another: what is reduced is always what a rank contributed itself.
bool combines_at_once(const Schedule& schedule) {
  const auto place = [&](int rank, int chunk) {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule.chunks) + static_cast<std::size_t>(chunk);
  };
  std::vector<bool> is_sum(static_cast<std::size_t>(schedule.ranks) * static_cast<std::size_t>(schedule.chunks));
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      if (transfer.kind != TransferKind::kReduce) continue;
      if (is_sum[place(transfer.from, transfer.chunk)] || is_sum[place(transfer.to, transfer.chunk)]) return false;
    }
    for (const Transfer& transfer : step) {
      if (transfer.kind == TransferKind::kReduce) is_sum[place(transfer.to, transfer.chunk)] = true;
    }
  }
  return true;
}

}  // namespace

bool Canonical::admits(const std::string& name, const Task& task) {
  if (name == kVendor) return false;  // nobody knows in which order it sums
  const auto [known, is_new] = admitted_.try_emplace({name, task.collective, task.root, is_16_bit(task.buffer.dtype)});
  if (is_new) {
    const Schedule& schedule = schedules_.get(name, task.collective, task.root);
    known->second = prove(schedule).canonical && (!is_16_bit(task.buffer.dtype) || combines_at_once(schedule));
  }
  return known->second;
}

std::string Canonical::first_admitted(const Task& task) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.supports(task.collective) && admits(std::string(algorithm.name), task))
      return std::string(algorithm.name);
  }
  throw Error(ErrorCode::kUnsupported,
              fmt::format("No schedule for a {} sums along the canonical tree.", to_string(task.collective)));
}

std::string Canonical::choose(const Task& task, std::string_view asked) {
  std::string name = schedules_.resolve(asked, task.collective, task.buffer.bytes());
  if (!sums(task.collective) || admits(name, task)) return name;
  std::string instead = first_admitted(task);
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
