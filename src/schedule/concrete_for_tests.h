#pragma once

#include "schedule/schedule.h"

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
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

/// Whether every rank of a barrier has heard from every other when it leaves, directly or by others.
inline bool everybody_heard(const Schedule& schedule) {
  using Heard = std::vector<std::set<int>>;  // by chunk
  std::vector<Heard> heard;
  for (int rank = 0; rank < schedule.ranks; ++rank) heard.emplace_back(schedule.chunks, std::set<int>{rank});
  for (const Step& step : schedule.steps) {
    const std::vector<Heard> before = heard;
    for (const auto& [kind, chunk, from, to] : step) {
      heard[to][chunk].insert(before[from][chunk].begin(), before[from][chunk].end());
    }
  }
  for (const Heard& of_rank : heard) {
    for (const std::set<int>& ranks : of_rank) {
      if (ranks.size() != static_cast<std::size_t>(schedule.ranks)) return false;
    }
  }
  return true;
}

/// Whether every rank ends with what the collective promises. Sums are of random 64-bit numbers modulo 2^64, so that a
/// contribution missed or counted twice shows.
inline bool delivers(const Schedule& schedule, std::uint64_t seed = 7) {
  if (schedule.collective == Collective::kBarrier) return everybody_heard(schedule);
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

/// The sum along the binary tree over the ranks that the values come from: pairs of neighbours, then pairs of pairs.
inline double sum_in_order(const std::map<int, double>& values_by_rank) {
  std::vector<double> values;
  for (const auto& [rank, value] : values_by_rank) values.push_back(value);
  while (values.size() > 1) {
    std::vector<double> sums;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) sums.push_back(values[i] + values[i + 1]);
    if (values.size() % 2 == 1) sums.push_back(values.back());
    values = sums;
  }
  return values.front();
}

/// What numbers say about a proved schedule whose sums are made of doubles, which round: different orders show.
struct Bits {
  bool equal_on_all_ranks = true;  ///< where the chunk is promised, also where a sum is rounded when it is stored
  bool canonical = true;           ///< every sum is the one along the tree over all ranks
  /// And so it is, rounded once, where what is stored is rounded: floats stand for 16 bits, doubles for float32.
  bool canonical_in_16_bits = true;
};

/// One element of one chunk, of which every rank ends with a value. `Stored` is what a rank keeps from step to step:
/// what meets in a step is summed in doubles.
template <class Stored>
std::vector<double> ends_of(const Schedule& schedule, int chunk, std::vector<double> values) {
  for (double& value : values) value = static_cast<Stored>(value);
  for (const Step& step : schedule.steps) {
    const std::vector<double> before = values;
    std::map<int, std::map<int, double>> operands;  // by target, by where they come from
    for (const auto& [kind, of_chunk, from, to] : step) {
      if (of_chunk != chunk) continue;
      if (kind == TransferKind::kReduce) operands[to][to] = before[to];
      operands[to][from] = before[from];
    }
    for (const auto& [target, of_target] : operands) values[target] = static_cast<Stored>(sum_in_order(of_target));
  }
  return values;
}

inline bool are_equal_where_promised(const Schedule& schedule, int chunk, const std::vector<double>& values) {
  std::set<double> promised;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (is_promised(schedule, rank, chunk)) promised.insert(values[rank]);
  }
  return promised.size() < 2;
}

/// Whether every rank that is promised the chunk ends with the sum along the tree of what `Stored` keeps of the values,
/// rounded once.
template <class Stored>
bool is_canonical(const Schedule& schedule, int chunk, const std::vector<double>& values,
                  const std::vector<double>& ends) {
  std::map<int, double> contributions;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (starts_with(schedule, rank, chunk)) contributions[rank] = static_cast<Stored>(values[rank]);
  }
  const double canonical = static_cast<Stored>(sum_in_order(contributions));
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (is_promised(schedule, rank, chunk) && ends[rank] != canonical) return false;
  }
  return true;
}

/// One element of one chunk.
inline void compare_bits(const Schedule& schedule, int chunk, const std::vector<double>& values, Bits& bits) {
  const std::vector<double> ends = ends_of<double>(schedule, chunk, values);
  const std::vector<double> rounded = ends_of<float>(schedule, chunk, values);
  bits.canonical = bits.canonical && is_canonical<double>(schedule, chunk, values, ends);
  bits.canonical_in_16_bits =
      bits.canonical_in_16_bits && bits.canonical && is_canonical<float>(schedule, chunk, values, rounded);
  for (const std::vector<double>& of_all : {ends, rounded}) {
    bits.equal_on_all_ranks = bits.equal_on_all_ranks && are_equal_where_promised(schedule, chunk, of_all);
  }
}

/// A barrier, which sums nothing, says nothing. Two orders of three round to the same in three of four cases:
/// `elements` of them in each chunk do not.
inline Bits bits_of(const Schedule& schedule, int elements = 64) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> numbers;  // not uniform: those are whole multiples, whose sums are exact
  Bits bits;
  if (schedule.collective == Collective::kBarrier) return bits;
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    for (int element = 0; element < elements; ++element) {
      std::vector<double> values(schedule.ranks);
      for (double& value : values) value = numbers(random);
      compare_bits(schedule, chunk, values, bits);
    }
  }
  return bits;
}

}  // namespace lockstep::concrete
