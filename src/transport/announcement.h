#pragma once

#include <lockstep/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace lockstep {

/// What a rank is about to do. Ranks whose announcements under one sequence number differ are told so.
struct Announcement {
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;  ///< elements
  /// Of the buffers in this rank's registered memory, where the operation runs in place; ranks may differ.
  std::uint64_t input_offset = 0;
  std::uint64_t output_offset = 0;
  std::uint64_t fingerprint = 0;  ///< of what must agree, in this operation and in all before; see fingerprint_behind
  std::uint64_t recent = 0;       ///< a byte of the fingerprint of each of the eight before, alone; the last one lowest
  std::int32_t root = 0;
  std::uint32_t blocks = 0;  ///< digest_of_blocks() of the ranks' block sizes, where they differ
  Collective collective = Collective::kBarrier;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  // No bool: what comes over a wire may be any byte.
  std::uint8_t in_place = 0;  ///< 1: runs on registered memory, with no copy: peers read and write each other's buffers
  std::uint8_t splits = 0;    ///< 1: a part of Group::split()
  std::array<char, 43> algorithm{};  ///< zero-terminated; see name_algorithm

  /// A name that is too long is cut, and ends in a digest of all of it: so names that differ stay apart.
  void name_algorithm(std::string_view name);
  std::string_view algorithm_name() const { return algorithm.data(); }
  /// As "all_reduce of 12 float32 (sum, ALGORITHM)", "split, by an all_gather of 48 uint8 (ALGORITHM)".
  std::string describe() const;
};

/// A rank's announcements are known until so many operations later, to tell whoever asked for something else then.
inline constexpr std::uint64_t kAnnouncementsKept = 8;

/// A number that stands for these counts; 0 for none.
std::uint32_t digest_of_blocks(std::span<const std::size_t> block_counts);

/// A number that differs if anything differs that ranks must agree on: all but the sequence, the offsets and what was
/// before.
std::uint64_t fingerprint_of(const Announcement& announcement);

/// What an announcement says of the operations before it.
struct Past {
  std::uint64_t fingerprint = 0;  ///< of the last one; 0: there is none
  std::uint64_t recent = 0;
};

/// The first operation of the last seven before that these two, of one operation, show to have differed; none where
/// they do not, as for an earlier one, or by chance (of 256 one).
std::optional<std::uint64_t> disagreed_before(const Announcement& one, const Announcement& other);

/// That of an operation that is `alone` so, behind one announced with `past` (0: it is the first). Ranks that have
/// disagreed once, though nobody saw it, disagree ever after: for one operation it is a bijection of `past`.
constexpr std::uint64_t fingerprint_behind(std::uint64_t past, std::uint64_t alone) {
  return past * 0x9e3779b97f4a7c15 ^ alone;  // odd, so that nothing is lost; the upper half depends on the lower one
}

// It crosses process borders as plain bytes, all of which are somebody's.
static_assert(std::is_trivially_copyable_v<Announcement> && std::has_unique_object_representations_v<Announcement>);

}  // namespace lockstep
