#pragma once

#include "schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

/// Runs a schedule on numbers, as schedule.h says it in words and with no thought of the proof: what the proof is
/// tested against.
namespace lockstep::concrete {

/// One number a rank and chunk; none where nothing is held.
using Numbers = std::vector<std::vector<std::optional<std::uint64_t>>>;

inline bool starts_with(const Schedule& schedule, int rank, int chunk) {
  const int block = chunk * schedule.ranks / schedule.chunks;
  switch (schedule.collective) {
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kAllToAll: return rank == block;
    case Collective::kBroadcast:
    case Collective::kScatter: return rank == schedule.root;
    default: return true;
  }
}

inline bool is_promised(const Schedule& schedule, int rank, int chunk) {
  const int block = chunk * schedule.ranks / schedule.chunks;
  const int chunks_of_a_pair = schedule.chunks / schedule.ranks / schedule.ranks;
  switch (schedule.collective) {
    case Collective::kReduceScatter:
    case Collective::kScatter: return rank == block;
    case Collective::kReduce:
    case Collective::kGather: return rank == schedule.root;
    case Collective::kAllToAll: return rank == chunk / chunks_of_a_pair % schedule.ranks;
    default: return true;
  }
}

inline Numbers inputs(const Schedule& schedule, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Numbers numbers(schedule.ranks, std::vector<std::optional<std::uint64_t>>(schedule.chunks));
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const std::uint64_t value = random();
      if (starts_with(schedule, rank, chunk)) numbers[rank][chunk] = value;
    }
  }
  return numbers;
}

/// Every read of a step sees the values from before it. None if a rank sends or adds to what it does not hold.
inline std::optional<Numbers> execute(const Schedule& schedule, Numbers numbers) {
  for (const Step& step : schedule.steps) {
    const Numbers before = numbers;
    for (const Transfer& transfer : step) {
      const auto& source = before[transfer.from][transfer.chunk];
      auto& target = numbers[transfer.to][transfer.chunk];
      if (!source || (transfer.kind == TransferKind::kReduce && !target)) return std::nullopt;
      target = transfer.kind == TransferKind::kReduce ? *target + *source : *source;
    }
  }
  return numbers;
}

/// Whether every rank ends with what the collective promises. Sums are of random 64-bit numbers modulo 2^64, so that a
/// contribution missed or counted twice shows.
inline bool delivers(const Schedule& schedule, std::uint64_t seed = 7) {
  const Numbers start = inputs(schedule, seed);
  const auto end = execute(schedule, start);
  if (!end) return false;
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    std::uint64_t expected = 0;
    for (int rank = 0; rank < schedule.ranks; ++rank) expected += start[rank][chunk].value_or(0);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      if (is_promised(schedule, rank, chunk) && (*end)[rank][chunk] != expected) return false;
    }
  }
  return true;
}

}  // namespace lockstep::concrete
