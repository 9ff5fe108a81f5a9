#include "train/layout.h"

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

std::size_t align(std::size_t bytes) { return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment; }

struct Open {
  BucketLayout layout;
  std::size_t full_at = 0;  // position in the order of its last gradient
};

}  // namespace

std::vector<BucketLayout> lay_out(const std::vector<GradientSize>& sizes, const std::vector<std::size_t>& order,
                                  BucketLimits limits) {
  std::map<DataType, std::vector<Open>> by_type;
  for (std::size_t position = 0; position < order.size(); ++position) {
    const auto& [bytes, dtype] = sizes[order[position]];
    auto& buckets = by_type[dtype];
    const std::size_t limit = buckets.size() <= 1 ? limits.first : limits.others;
    if (buckets.empty() || buckets.back().layout.bytes + align(bytes) > limit) buckets.push_back({{.dtype = dtype}});
    auto& [layout, full_at] = buckets.back();
    layout.slots.push_back({order[position], layout.bytes});
    layout.bytes += align(bytes);
    full_at = position;
  }
  std::vector<Open> all;
  for (auto& [dtype, buckets] : by_type) all.insert(all.end(), buckets.begin(), buckets.end());
  std::sort(all.begin(), all.end(), [](const Open& a, const Open& b) { return a.full_at < b.full_at; });
  std::vector<BucketLayout> result;
  for (auto& open : all) result.push_back(std::move(open.layout));
  return result;
}

}  // namespace lockstep
