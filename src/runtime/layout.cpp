#include "runtime/layout.h"

#include "schedule/promise.h"

#include <algorithm>
#include <numeric>

namespace lockstep {

namespace {

std::size_t divided_up(std::size_t dividend, std::size_t divisor) { return (dividend + divisor - 1) / divisor; }

}  // namespace

Layout::Layout(const Shape& shape) : element_bytes_(size_of(shape.dtype)) {
  inputs_.reserve(at(shape.chunks));
  if (shape.collective == Collective::kAllToAll) {
    place_all_to_all(shape);
  } else if (has_blocks(shape.collective)) {
    place_in_blocks(shape);
  } else {
    place_by_cache_lines(shape.count, at(shape.chunks));
    is_free_to_deal_ = true;
  }
  std::size_t largest = 0;
  for (const Span& span : inputs_) largest = std::max(largest, span.count);
  slice_count_ = divided_up(largest * element_bytes_, kCacheLine) * kCacheLine / element_bytes_;
}

void Layout::place_by_cache_lines(std::size_t count, std::size_t parts) {
  const std::size_t unit = kCacheLine / element_bytes_;
  const auto begin = [&](std::size_t part) {
    const std::size_t exact = count / parts * part + count % parts * part / parts;  // which is count * part / parts
    return std::min(count, divided_up(exact, unit) * unit);
  };
  for (std::size_t part = 0; part < parts; ++part) {
    inputs_.push_back({begin(part) * element_bytes_, begin(part + 1) - begin(part)});
  }
}

void Layout::deal(std::size_t block_bytes) {
  const std::size_t chunks = inputs_.size();
  if (!is_free_to_deal_ || chunks == 0) return;
  const std::size_t count = inputs_.back().offset_bytes / element_bytes_ + inputs_.back().count;
  rows_ = std::max<std::size_t>(1, count * element_bytes_ / (chunks * block_bytes));
  inputs_.clear();
  inputs_.reserve(rows_ * chunks);
  place_by_cache_lines(count, rows_ * chunks);
}

void Layout::place_in_blocks(const Shape& shape) {
  const std::size_t per_block = at(shape.chunks / shape.ranks);
  std::size_t block_begin = 0;
  for (std::size_t block = 0; block < at(shape.ranks); ++block) {
    const std::size_t count = shape.block_counts.empty() ? shape.count / at(shape.ranks) : shape.block_counts[block];
    for (std::size_t part = 0; part < per_block; ++part) {
      const std::size_t begin = count * part / per_block;
      inputs_.push_back({(block_begin + begin) * element_bytes_, count * (part + 1) / per_block - begin});
    }
    block_begin += count;
  }
}

void Layout::place_all_to_all(const Shape& shape) {
  const std::size_t ranks = at(shape.ranks);
  const std::size_t per_pair = at(shape.chunks) / (ranks * ranks);
  outputs_.reserve(at(shape.chunks));
  const auto count_of = [&](std::size_t source, std::size_t destination) {
    return shape.block_counts.empty() ? shape.count / ranks : shape.block_counts[source * ranks + destination];
  };
  std::vector<std::size_t> received(ranks);  // by each destination, of the sources so far
  for (std::size_t source = 0; source < ranks; ++source) {
    std::size_t sent = 0;
    for (std::size_t destination = 0; destination < ranks; ++destination) {
      const std::size_t block = count_of(source, destination);
      for (std::size_t part = 0; part < per_pair; ++part) {
        const std::size_t begin = block * part / per_pair;
        const std::size_t count = block * (part + 1) / per_pair - begin;
        inputs_.push_back({(sent + begin) * element_bytes_, count});
        outputs_.push_back({(received[destination] + begin) * element_bytes_, count});
      }
      sent += block;
      received[destination] += block;
    }
  }
}

void Layout::slice(std::size_t slice_bytes) {
  const std::size_t line = kCacheLine / element_bytes_;
  const std::size_t most = std::max<std::size_t>(1, slice_bytes / kCacheLine) * line;
  std::size_t longest = 0;
  for (const Span& span : inputs_) longest = std::max(longest, span.count);
  pieces_ = std::max<std::size_t>(1, divided_up(longest, most));
  slice_count_ = std::min(slice_count_, divided_up(longest, pieces_ * line) * line);
}

Layout::Span Layout::cut(const Span& chunk, std::size_t piece) const {
  const std::size_t begin = std::min(chunk.count, piece * slice_count_);
  return {chunk.offset_bytes + begin * element_bytes_, std::min(slice_count_, chunk.count - begin)};
}

}  // namespace lockstep
