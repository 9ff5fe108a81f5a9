#pragma once

#include <lockstep/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::bench {

/// What `lockstep bench` measures.
struct Options {
  Collective collective = Collective::kAllReduce;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;                           ///< of what has one
  std::uint64_t min_bytes = 4;            ///< of a rank's whole buffer, as in nccl-tests
  std::uint64_t max_bytes = 64ULL << 20;  ///< sizes are min_bytes times powers of `factor` up to here
  std::uint64_t factor = 4;               ///< from 2 up
  bool cold = false;                      ///< rotate through buffers larger than the last-level cache
  /// What that cache holds, and what copies exceed that are to tell how fast memory is; without it as the system says,
  /// which in a virtual machine may be a cache that others use too.
  std::optional<std::uint64_t> cache_bytes{};
  bool plain = false;  ///< memory of the program's own instead of the group's
  /// A name, "auto", or "all": all_algorithms() (over MPI also its own), and auto.
  std::string algorithm = "auto";
  std::string schedule;  ///< the text of a schedule to run beside (or, where `algorithm` is empty, alone)
  /// Groups of as many ranks each, made of the world's, that measure side by side.
  int groups = 1;
  bool interleaved = false;  ///< rank r is in group r modulo `groups`; else neighbours in number are together
  /// How long an algorithm is measured at one size, at least, but for no more iterations than 10 million.
  std::chrono::nanoseconds min_time{300'000'000};
};

}  // namespace lockstep::bench
