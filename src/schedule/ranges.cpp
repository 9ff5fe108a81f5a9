#include "schedule/ranges.h"

#include "schedule/promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace lockstep {

namespace {

Refusal refuse(std::string sentence) { return {-1, -1, -1, std::move(sentence)}; }

}  // namespace

std::optional<Refusal> check_ranks(const Schedule& schedule) {
  if (schedule.ranks >= 1 && schedule.ranks <= kMostRanks) return std::nullopt;
  return refuse(fmt::format("a schedule has 1 to {} ranks, not {}", kMostRanks, schedule.ranks));
}

std::optional<Refusal> check_chunks(const Schedule& schedule) {
  const auto& [name, collective, ranks, chunks, root, steps] = schedule;
  const std::int64_t most_chunks = std::min<std::int64_t>(kMostChunks, kMostRanksTimesChunks / ranks);
  if (chunks < 1 || chunks > most_chunks) {
    return refuse(fmt::format("a schedule of {} ranks has 1 to {} chunks, not {}", ranks, most_chunks, chunks));
  }
  if (const int blocks = blocks_of(collective, ranks); chunks % blocks != 0) {
    return refuse(fmt::format("{} needs a multiple of {} chunks, one block a {}, not {}", to_string(collective), blocks,
                              collective == Collective::kAllToAll ? "pair of ranks" : "rank", chunks));
  }
  return std::nullopt;
}

std::optional<Refusal> check_shape(const Schedule& schedule) {
  if (auto refusal = check_ranks(schedule)) return refusal;
  if (auto refusal = check_chunks(schedule)) return refusal;
  const auto& [name, collective, ranks, chunks, root, steps] = schedule;
  if (root < 0 || root >= ranks) return refuse(fmt::format("there is no rank {} among {} to be the root", root, ranks));
  if (root != 0 && !has_root(collective)) {
    return refuse(fmt::format("{} has no root, yet rank {} is named", to_string(collective), root));
  }
  return std::nullopt;
}

std::optional<Refusal> check_step_count(const Schedule& schedule) {
  const auto steps = static_cast<std::int64_t>(schedule.steps.size());
  const std::int64_t most_steps = std::min<std::int64_t>(kMostSteps, kMostRanksTimesSteps / schedule.ranks);
  if (steps <= most_steps) return std::nullopt;
  return refuse(fmt::format("a schedule of {} ranks has at most {} steps, not {}", schedule.ranks, most_steps, steps));
}

std::optional<Refusal> check_transfer(const Schedule& schedule, int step, const Transfer& transfer) {
  for (const int rank : {transfer.from, transfer.to}) {
    if (rank < 0 || rank >= schedule.ranks) {
      return Refusal{-1, -1, step, fmt::format("there is no rank {} among {}", rank, schedule.ranks)};
    }
  }
  if (transfer.chunk < 0 || transfer.chunk >= schedule.chunks) {
    return Refusal{-1, -1, step, fmt::format("there is no chunk {} among {}", transfer.chunk, schedule.chunks)};
  }
  if (transfer.from == transfer.to) {
    return Refusal{transfer.from, transfer.chunk, step, fmt::format("rank {} sends to itself", transfer.from)};
  }
  return std::nullopt;
}

std::optional<Refusal> check_ranges(const Schedule& schedule) {
  if (auto refusal = check_shape(schedule)) return refusal;
  if (auto refusal = check_step_count(schedule)) return refusal;
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Transfer& transfer : schedule.steps[step]) {
      if (auto refusal = check_transfer(schedule, static_cast<int>(step), transfer)) return refusal;
    }
  }
  return std::nullopt;
}

}  // namespace lockstep
