#pragma once

#include <lockstep/data_parallel.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/layout.h"
#include "train/module_tensors.h"

namespace lockstep {

/// "a, b, c and 4 more": for the sentences of errors.
std::string some_of(const std::vector<std::string>& names);

/// Several gradients in one piece of registered memory. What is handed to the collective is `gradient().flat`; what
/// parameters have as `.grad` are the slots, tensors over the same memory.
class Bucket {
 public:
  /// `parameters` is what the layout's indices refer to. Throws Error (kOutOfMemory).
  Bucket(const Group& group, const BucketLayout& layout, const std::vector<ModuleTensor>& parameters, int index,
         bool last);

  const BucketLayout& layout() const { return layout_; }
  /// In the order of layout().slots.
  const std::vector<torch::Tensor>& slots() const { return slots_; }
  const GradientBucket& gradient() const { return gradient_; }
  /// "gradients of a, b, c and 4 more (bucket 2)".
  const std::string& purpose() const { return purpose_; }
  Buffer buffer() const;
  /// Zeros what lies between the slots, where a hook that works in blocks may have left something.
  void clear_gaps() const;
  /// What its all-reduce by `algorithm` is predicted to take.
  void predict(const Group& group, const std::string& algorithm);
  std::optional<double> predicted_ms() const { return predicted_ms_; }

 private:
  BucketLayout layout_;
  RegisteredMemory memory_;
  std::vector<torch::Tensor> slots_;
  GradientBucket gradient_;
  std::string purpose_;
  std::optional<double> predicted_ms_;
};

/// The buckets of all parameters, in the order in which they leave.
class BucketSet {
 public:
  /// `made` is called with each bucket as soon as it is there, before there is memory for the next.
  BucketSet(
      const Group& group, const std::vector<BucketLayout>& layouts, const std::vector<ModuleTensor>& parameters,
      const std::function<void(const Bucket&)>& made = [](const Bucket&) {});

  const std::vector<Bucket>& buckets() const { return buckets_; }
  void predict(const Group& group, const std::string& algorithm);
  std::vector<BucketLayout> layouts() const;
  /// The index of the bucket that holds parameter `parameter`, and the gradient's place there.
  std::size_t bucket_of(std::size_t parameter) const { return places_[parameter].bucket; }
  const torch::Tensor& slot_of(std::size_t parameter) const {
    return buckets_[places_[parameter].bucket].slots()[places_[parameter].slot];
  }

 private:
  struct Place {
    std::size_t bucket = 0;
    std::size_t slot = 0;
  };
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  // by parameter
};

}  // namespace lockstep
