#include "planner/one_host/reuse_distance.h"

#include <algorithm>
#include <numeric>

namespace lockstep {

ReuseDistance::ReuseDistance(std::size_t blocks)
    : last_(blocks, kNone), others_then_(blocks), counts_(4 * blocks + 64) {}

double ReuseDistance::of(std::size_t block) const {
  const std::uint32_t last = last_[block];
  return last == kNone ? kNever : present_ - touched_until(last) + 0.5 + others_ - others_then_[block];
}

void ReuseDistance::touch(std::size_t block) {
  if (now_ + 1 == counts_.size()) forget_gaps();
  drop(block);
  last_[block] = ++now_;
  others_then_[block] = others_;
  add(now_, 1);
  ++present_;
}

void ReuseDistance::drop(std::size_t block) {
  if (last_[block] == kNone) return;
  add(last_[block], -1);
  last_[block] = kNone;
  --present_;
}

void ReuseDistance::add(std::uint32_t moment, std::int32_t change) {
  for (; moment < counts_.size(); moment += moment & (~moment + 1)) counts_[moment] += change;
}

std::uint32_t ReuseDistance::touched_until(std::uint32_t moment) const {
  std::int32_t sum = 0;
  for (; moment > 0; moment &= moment - 1) sum += counts_[moment];
  return static_cast<std::uint32_t>(sum);
}

void ReuseDistance::forget_gaps() {
  std::vector<std::size_t> order(last_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return last_[a] < last_[b]; });
  std::fill(counts_.begin(), counts_.end(), 0);
  now_ = 0;
  for (const std::size_t block : order) {
    if (last_[block] == kNone) continue;
    last_[block] = ++now_;
    add(now_, 1);
  }
}

}  // namespace lockstep
