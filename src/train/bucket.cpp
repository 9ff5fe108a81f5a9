#include "train/bucket.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/prediction.h>

#include <algorithm>
#include <cstring>

#include "train/tensor.h"

namespace lockstep {
namespace {

constexpr std::size_t kNamesInPurpose = 3;

}  // namespace

std::string some_of(const std::vector<std::string>& names) {
  const auto shown = std::min(names.size(), kNamesInPurpose);
  const auto rest = names.size() - shown;
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "),
                     rest > 0 ? fmt::format(" and {} more", rest) : "");
}

Bucket::Bucket(const Group& group, const BucketLayout& layout, const std::vector<ModuleTensor>& parameters, int index,
               bool last)
    : layout_(layout), memory_(group.allocate(layout.bytes)) {
  gradient_.index = index;
  gradient_.last = last;
  for (const Slot& slot : layout_.slots) {
    const ModuleTensor& parameter = parameters[slot.parameter];
    slots_.push_back(tensor_like(parameter.tensor, memory_, slot.offset));
    gradient_.parameters.push_back(parameter.name);
  }
  gradient_.flat = tensor_over(memory_, slots_.front().scalar_type());
  gradient_.gradients = slots_;
  purpose_ = fmt::format("gradients of {} (bucket {})", some_of(gradient_.parameters), gradient_.index);
}

Buffer Bucket::buffer() const { return {memory_.data(), layout_.bytes / size_of(layout_.dtype), layout_.dtype}; }

void Bucket::clear_gaps() const {
  auto* const memory = static_cast<std::byte*>(memory_.data());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::size_t end = layout_.slots[i].offset + slots_[i].nbytes();
    const std::size_t next = i + 1 < slots_.size() ? layout_.slots[i + 1].offset : layout_.bytes;
    std::memset(memory + end, 0, next - end);
  }
}

void Bucket::predict(const Group& group, const std::string& algorithm) {
  predicted_ms_ =
      lockstep::predicted_ms(group, Collective::kAllReduce, layout_.bytes, {.algorithm = algorithm}, layout_.dtype);
}

void BucketSet::predict(const Group& group, const std::string& algorithm) {
  for (Bucket& bucket : buckets_) bucket.predict(group, algorithm);
}

BucketSet::BucketSet(const Group& group, const std::vector<BucketLayout>& layouts,
                     const std::vector<ModuleTensor>& parameters, const std::function<void(const Bucket&)>& made)
    : places_(parameters.size()) {
  for (std::size_t index = 0; index < layouts.size(); ++index) {
    buckets_.emplace_back(group, layouts[index], parameters, static_cast<int>(index), index + 1 == layouts.size());
    const auto& slots = layouts[index].slots;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) places_[slots[slot].parameter] = {index, slot};
    made(buckets_.back());
  }
}

std::vector<BucketLayout> BucketSet::layouts() const {
  std::vector<BucketLayout> result;
  for (const Bucket& bucket : buckets_) result.push_back(bucket.layout());
  return result;
}

}  // namespace lockstep
