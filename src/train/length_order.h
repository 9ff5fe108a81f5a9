#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// Which epoch a random order is for.
struct EpochSeed {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// Rearranges a shuffled order so that each global batch holds samples of similar length (sequence bucketing, Khomenko
/// et al. 2016): sorts within pools of 50 global batches, or a quarter of the epoch if that is less, as Hugging Face's
/// LengthGroupedSampler does, then shuffles the batches. So both who meets whom and which lengths come when stay
/// random. The samples left over for a last, shorter batch stay as they were shuffled: they are of any length.
void group_by_length(std::vector<std::size_t>& order, const std::vector<std::int64_t>& lengths,
                     std::size_t global_batch, EpochSeed when);

}  // namespace lockstep
