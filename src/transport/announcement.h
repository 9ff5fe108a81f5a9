#pragma once

#include <lockstep/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace lockstep {

/// What a rank is about to do. Ranks whose announcements under one sequence number differ are told so.
struct Announcement {
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;   ///< elements
  std::uint64_t offset = 0;  ///< of the buffer in this rank's registered memory; ranks may differ
  std::int32_t root = 0;
  Collective collective = Collective::kBarrier;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::array<char, 41> algorithm{};  ///< zero-terminated

  std::string_view algorithm_name() const { return algorithm.data(); }
  bool agrees_with(const Announcement& other) const;
  /// As "all_reduce of 12 float32 (sum, ALGORITHM)".
  std::string describe() const;
};
// It crosses process borders as plain bytes.
static_assert(std::is_trivially_copyable_v<Announcement>);

}  // namespace lockstep
