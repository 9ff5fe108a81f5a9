#pragma once

#include "bench/collectives.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace lockstep::bench {

/// One rank's part in one collective.
struct Shape {
  Collective collective = Collective::kAllReduce;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::size_t count = 0;  ///< elements of the buffer; a multiple of `ranks` where the collective has blocks

  std::size_t bytes() const { return count * size_of(dtype); }
};

/// Inputs whose reduction is exact in any order and association, and what must come of them, byte for byte.
///
/// Element i of rank r is a(i) + d(r, i): a is a small whole number, the d of all ranks add up to 0, and both depend on
/// i through i modulo a prime, so that an element out of place shows and that filling and checking a buffer of any size
/// needs a few KiB. So a sum is ranks * a(i), a mean a(i); a product has factors 1 and -1 instead. Blocks that a rank
/// does not bring hold all ones (a NaN, or -1), which no result may hold.
class Pattern {
 public:
  explicit Pattern(const Shape& shape);

  const Shape& shape() const { return shape_; }
  /// Of memory that an operation takes: of the buffer and, where it lies apart, of what comes out.
  std::size_t bytes() const { return parts() * shape_.bytes(); }
  /// Writes what this rank brings.
  void fill(void* buffer) const;
  /// Elements that differ from what the collective leaves after `uses` times in place, from 1 to most_uses().
  std::uint64_t wrong(const void* buffer, int uses) const;
  /// How often the buffer can go in again before its values leave the range in which they are exact.
  int most_uses() const { return most_uses_; }

 private:
  /// kPeriod elements, twice in a row, so that a whole period can be taken from anywhere in the first.
  using Tile = std::vector<unsigned char>;

  template <class F>
  void for_each_block(Content (*content)(const Place&), F&& f) const;
  const Tile& tile(const Content& content, int uses) const;
  Tile make_tile(const Content& content, int uses) const;
  std::size_t blocks() const;
  /// What goes in, and what comes out if that lies apart.
  std::size_t parts() const { return facts_->in_place ? 1 : 2; }

  Shape shape_;
  const CollectiveFacts* facts_;
  int most_uses_;
  mutable std::map<std::pair<int, int>, Tile> tiles_;  ///< by rank (-1: reduced, -2: nothing) and uses
};

}  // namespace lockstep::bench
