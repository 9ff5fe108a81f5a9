#include "bench/workload.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockstep::bench {

namespace {

constexpr std::size_t kLine = 64;
/// Between cold buffers, so that no prefetcher runs from one into the next.
constexpr std::size_t kColdGap = 4096;
/// Buffers of a collective that cannot take its own result lie in so much memory: little enough to stay in the cache.
constexpr std::size_t kWarmBytes = std::size_t{512} << 10;
constexpr std::size_t kMostWarmSlots = 64;

std::size_t rounded_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

Layout make_layout(const Pattern& pattern, bool cold, std::size_t cache_bytes) {
  const std::size_t stride = std::max(kLine, rounded_up(pattern.bytes(), kLine));
  if (cold) {
    const std::size_t apart = stride + kColdGap;
    return {.slots = 1 + (2 * cache_bytes + apart - 1) / apart, .stride = apart, .gap = kColdGap};
  }
  if (pattern.most_uses() > 1) return {.stride = stride, .uses = pattern.most_uses()};
  return {.slots = std::clamp<std::size_t>(kWarmBytes / stride, 1, kMostWarmSlots), .stride = stride};
}

FilledOperands::FilledOperands(Pattern pattern, const Layout& layout, void* memory)
    : pattern_(std::move(pattern)), layout_(layout), memory_(static_cast<unsigned char*>(memory)) {}

void FilledOperands::prepare(std::size_t operations) {
  if (suffices_for(operations)) return;
  spend();
  for (std::size_t i = 0; i < layout_.slots; ++i) pattern_.fill(slot(i));
  write_gaps();
  filled_ = true;
}

/// Small buffers are little of what they lie in: without this all of them would be in a core's own cache.
void FilledOperands::write_gaps() {
  if (layout_.gap == 0) return;
  for (std::size_t i = 0; i < layout_.slots; ++i) std::memset(slot(i) + layout_.stride - layout_.gap, 0, layout_.gap);
}

Buffer FilledOperands::next() {
  return {slot(used_++ % layout_.slots), pattern_.shape().count, pattern_.shape().dtype};
}

void FilledOperands::spend() {
  used_ = 0;
  filled_ = false;
}

void Workload::prepare(std::size_t operations) {
  if (!suffices_for(operations)) check();
  FilledOperands::prepare(operations);
}

std::uint64_t Workload::take_wrong() {
  check();
  return std::exchange(wrong_, 0);
}

void Workload::check() {
  const std::size_t slots = layout().slots;
  for (std::size_t i = 0; i < std::min(used(), slots); ++i) {
    const std::size_t uses = used() / slots + (i < used() % slots ? 1 : 0);
    wrong_ += pattern().wrong(slot(i), static_cast<int>(uses));
  }
  spend();
}

}  // namespace lockstep::bench
