#include "bench/pattern.h"

#include "bench/exact.h"

#include <algorithm>
#include <cstring>

namespace lockstep::bench {

namespace {

constexpr std::size_t kPeriod = 1021;
constexpr int kMostOfUInt8 = 255;
constexpr int kMostUses = 100;  // more than a batch needs
/// bfloat16 is exact to here: partial sums, of whatever ranks, must not go beyond.
constexpr int kExactInBFloat16 = 256;

/// a(i): from 1 up where the type has no sign, and so small that a mean's sum does not wrap around; it does with more
/// than 255 ranks, of which no mean in 8 bits is above 0.
int common(std::size_t i, const Shape& shape) {
  const int hash = static_cast<int>((i * 5 + i / 8) % 9);
  if (shape.dtype == DataType::kUInt8) {
    if (shape.op == ReduceOp::kMean && shape.ranks > kMostOfUInt8) return 0;
    return 1 + hash % std::clamp(kMostOfUInt8 / shape.ranks, 1, 4);
  }
  if (shape.dtype == DataType::kBFloat16 && shape.ranks > kExactInBFloat16) return 0;
  return shape.ranks > 50 ? hash % 3 - 1 : hash - 4;
}

/// d(r, i): pairs of 1 and -1 that move on by a rank with each element; of very many ranks some have none.
int difference(int rank, std::size_t i, int ranks) {
  const int place = static_cast<int>((static_cast<std::size_t>(rank) + i) % static_cast<std::size_t>(ranks));
  if (place >= kExactInBFloat16) return 0;
  if (place % 2 == 1) return -1;
  return place + 1 < ranks ? 1 : 0;
}

/// A factor of a product: 1 or -1.
int factor(int rank, std::size_t i) { return (i + 2 * static_cast<std::size_t>(rank)) % 3 == 0 ? -1 : 1; }

int contribution(int rank, std::size_t i, const Shape& shape) {
  if (shape.op == ReduceOp::kProduct) return factor(rank, i);
  return common(i, shape) + difference(rank, i, shape.ranks);
}

/// The reduction of all ranks' element i, `uses` times in a row.
Exact reduction(std::size_t i, int uses, const Shape& shape) {
  int smallest = contribution(0, i, shape);
  int largest = smallest;
  int product = 1;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int value = contribution(rank, i, shape);
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    product *= shape.op == ReduceOp::kProduct ? value : 1;
  }
  switch (shape.op) {
    case ReduceOp::kMin: return Exact(smallest);
    case ReduceOp::kMax: return Exact(largest);
    case ReduceOp::kMean: return Exact(common(i, shape));
    case ReduceOp::kProduct: return Exact(uses > 1 && shape.ranks % 2 == 0 ? 1 : product);
    case ReduceOp::kSum: break;
  }
  Exact sum(common(i, shape));
  for (int use = 0; use < uses; ++use) sum *= shape.ranks;
  return sum;
}

bool reduces(Collective collective) { return facts_of(collective).after({0, 0, 0}).kind == Content::Kind::kReduced; }

int find_most_uses(const Shape& shape) {
  if (!facts_of(shape.collective).repeatable) return 1;
  if (!reduces(shape.collective) || shape.op != ReduceOp::kSum) return kMostUses;
  return exact_powers(shape.ranks, shape.dtype, kMostUses);
}

std::uint64_t differing_elements(const unsigned char* a, const unsigned char* b, std::size_t count, std::size_t size) {
  if (std::memcmp(a, b, count * size) == 0) return 0;
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < count; ++i) differing += std::memcmp(a + i * size, b + i * size, size) != 0 ? 1 : 0;
  return differing;
}

}  // namespace

Pattern::Pattern(const Shape& shape)
    : shape_(shape), facts_(&facts_of(shape.collective)), most_uses_(find_most_uses(shape)) {}

std::size_t Pattern::blocks() const { return facts_->in_blocks ? static_cast<std::size_t>(shape_.ranks) : 1; }

Pattern::Tile Pattern::make_tile(const Content& content, int uses) const {
  const std::size_t size = size_of(shape_.dtype);
  if (content.kind == Content::Kind::kNothing) return Tile(2 * kPeriod * size, 0xff);
  Tile tile(2 * kPeriod * size);
  for (std::size_t i = 0; i < 2 * kPeriod; ++i) {
    const std::size_t index = i % kPeriod;
    const Exact value = content.kind == Content::Kind::kReduced ? reduction(index, uses, shape_)
                                                                : Exact(contribution(content.rank, index, shape_));
    encode(value, shape_.dtype, tile.data() + i * size);
  }
  return tile;
}

const Pattern::Tile& Pattern::tile(const Content& content, int uses) const {
  constexpr int kReduced = -1;
  constexpr int kNothing = -2;
  std::pair<int, int> key{content.rank, 0};
  if (content.kind == Content::Kind::kReduced) key = {kReduced, uses};
  if (content.kind == Content::Kind::kNothing) key = {kNothing, 0};
  const auto found = tiles_.find(key);
  if (found != tiles_.end()) return found->second;
  return tiles_.emplace(key, make_tile(content, uses)).first->second;
}

/// Calls f(content, first byte of a piece, where in the tile it starts, elements): pieces of at most a period.
template <class F>
void Pattern::for_each_block(Content (*content)(const Place&), F&& f) const {
  const std::size_t length = shape_.count / blocks();
  for (std::size_t block = 0; block < parts() * blocks(); ++block) {
    const bool output = block >= blocks();
    const Content what = content({shape_.rank, static_cast<int>(block % blocks()), shape_.root, output});
    const std::size_t phase = static_cast<std::size_t>(what.block) * length % kPeriod;
    for (std::size_t done = 0; done < length; done += kPeriod) {
      f(what, block * length + done, phase, std::min(kPeriod, length - done));
    }
  }
}

void Pattern::fill(void* buffer) const {
  const std::size_t size = size_of(shape_.dtype);
  auto* bytes = static_cast<unsigned char*>(buffer);
  for_each_block(facts_->before, [&](const Content& what, std::size_t first, std::size_t phase, std::size_t count) {
    std::memcpy(bytes + first * size, tile(what, 0).data() + phase * size, count * size);
  });
}

std::uint64_t Pattern::wrong(const void* buffer, int uses) const {
  const std::size_t size = size_of(shape_.dtype);
  const auto* bytes = static_cast<const unsigned char*>(buffer);
  std::uint64_t count_wrong = 0;
  for_each_block(facts_->after, [&](const Content& what, std::size_t first, std::size_t phase, std::size_t count) {
    if (what.kind == Content::Kind::kNothing) return;
    count_wrong += differing_elements(bytes + first * size, tile(what, uses).data() + phase * size, count, size);
  });
  return count_wrong;
}

}  // namespace lockstep::bench
