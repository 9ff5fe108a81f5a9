#pragma once

#include "base/index.h"
#include "runtime/list_bytes.h"
#include "schedule/schedule.h"

#include <lockstep/types.h>

#include <cstddef>
#include <vector>

namespace lockstep {

/// Where the chunks of an operation's buffers lie, and how they are cut into pieces: piece k of an operation is the
/// k-th slice of every chunk, so that an operation of any size passes through a staging area of a fixed one.
///
/// Chunks of collectives that have blocks have exact cuts (`count` is a multiple of the ranks, or each block has a
/// count of its own); elsewhere cuts fall on cache lines, so that two ranks never write to the same one, and a chunk
/// need not be one span: dealt out, it has a block of every row of the buffer. Chunks may be empty. In an all_to_all
/// chunk (s, d) is block d of what s sends and block s of what d receives.
class Layout {
 public:
  static constexpr std::size_t kCacheLine = 64;

  struct Shape {
    Collective collective = Collective::kAllReduce;
    DataType dtype = DataType::kFloat32;
    int ranks = 1;
    int chunks = 1;
    std::size_t count = 0;                  ///< elements of the buffer
    std::vector<std::size_t> block_counts;  ///< as Task's: of each rank's block, or each pair's, where they differ
  };
  struct Span {
    std::size_t offset_bytes;  ///< in the buffer
    std::size_t count;         ///< elements

    friend bool operator==(const Span&, const Span&) = default;
  };

  explicit Layout(const Shape& shape);

  /// Cuts chunks into slices of at most this many bytes (rounded down to whole cache lines, at least one), as few as
  /// will do and of one size: a short one would leave part of the staging area out of its turn (staging_rotations.h).
  void slice(std::size_t slice_bytes);

  /// Cuts the buffer into rows, so that a chunk has about so many bytes or more of each: `piece` is the row then.
  /// Chunks that must be where they are stay there, in one row.
  void deal(std::size_t block_bytes);
  std::size_t rows() const { return rows_; }

  /// What its lists take of memory.
  std::size_t bytes_kept() const { return bytes_of_lists(inputs_, outputs_); }

  std::size_t pieces() const { return pieces_; }
  /// Bytes of a slice, a whole number of cache lines: what one chunk takes of a staging area.
  std::size_t slice_bytes() const { return slice_count_ * element_bytes_; }

  Span input(int chunk, std::size_t piece) const { return of(inputs_, chunk, piece); }
  Span output(int chunk, std::size_t piece) const { return of(outputs_.empty() ? inputs_ : outputs_, chunk, piece); }

 private:
  Span of(const std::vector<Span>& chunks, int chunk, std::size_t piece) const {
    return rows_ > 1 ? chunks[piece * (chunks.size() / rows_) + at(chunk)] : cut(chunks[at(chunk)], piece);
  }
  Span cut(const Span& chunk, std::size_t piece) const;
  void place_in_blocks(const Shape& shape);
  void place_by_cache_lines(std::size_t count, std::size_t parts);
  void place_all_to_all(const Shape& shape);

  std::size_t element_bytes_;
  std::size_t slice_count_ = 0;
  std::size_t pieces_ = 1;
  std::size_t rows_ = 1;
  bool is_free_to_deal_ = false;
  std::vector<Span> inputs_;   ///< by chunk, of one row after the other
  std::vector<Span> outputs_;  ///< where they are not the inputs
};

/// What lies so many bytes into a buffer; nothing does in one that may be null, since nobody has elements of it.
inline std::byte* place_in(void* buffer, std::size_t offset_bytes) {
  return buffer == nullptr ? nullptr : static_cast<std::byte*>(buffer) + offset_bytes;
}

}  // namespace lockstep
