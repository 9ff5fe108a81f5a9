#pragma once

#include <cstddef>
#include <iterator>

namespace lockstep {

/// Goes once through batches that come one after another: `Batches` has `Batch& batch()`, the present one, and
/// `bool advance()`, which makes the next one present, or says that there is none.
template <class Batches, class Batch>
class BatchIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using pointer = Batch*;
  using reference = Batch&;

  BatchIterator() = default;  ///< the end
  explicit BatchIterator(Batches& batches) : batches_(&batches) { ++*this; }

  Batch& operator*() const { return batches_->batch(); }
  Batch* operator->() const { return &batches_->batch(); }
  BatchIterator& operator++() {
    if (!batches_->advance()) batches_ = nullptr;
    return *this;
  }
  bool operator==(const BatchIterator& other) const { return batches_ == other.batches_; }
  bool operator!=(const BatchIterator& other) const { return batches_ != other.batches_; }

 private:
  Batches* batches_ = nullptr;
};

}  // namespace lockstep
