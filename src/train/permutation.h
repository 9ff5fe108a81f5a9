#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// A permutation of 0..size-1 that depends on (seed, epoch) only: Fisher and Yates' shuffle (Knuth, TAOCP 2, 3.4.2,
/// algorithm P) over the splitmix64 generator (Steele, Lea, Flood 2014), bounded without bias (Lemire 2019). The same
/// on every platform.
std::vector<std::size_t> permutation(std::size_t size, std::uint64_t seed, std::uint64_t epoch);

}  // namespace lockstep
