#pragma once

#include <lockstep/hooks.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "train/sync_timing.h"

namespace lockstep {

/// Counts what is sent, by the formulas of HookTraffic, and the time that a hook itself takes.
class TrafficCount {
 public:
  explicit TrafficCount(int ranks) : others_(ranks - 1), ranks_(ranks) {}
  void dense(std::size_t bytes) {
    traffic_.dense_bytes += all_reduced(bytes);
    traffic_.dense_messages += 2 * others_;
  }
  /// With the first of a backward an iteration begins.
  void dense(const GradientBucket& bucket) {
    if (bucket.index == 0) begin_iteration();
    dense(bucket.flat.nbytes());
  }
  void begin_iteration() { ++traffic_.iterations; }
  void all_reduce(std::size_t bytes) { sent(all_reduced(bytes), 2 * others_); }
  void all_gather(std::size_t own_block) { sent(others_ * static_cast<double>(own_block), others_); }
  void all_to_all(std::size_t bytes) { sent(others_ * static_cast<double>(bytes) / ranks_, others_); }
  HookTraffic traffic() const {
    HookTraffic all = traffic_;
    all.hook_seconds = own_ms_ / 1000;
    return all;
  }

  /// What `f` gives; the time it takes is the hook's.
  template <class F>
  auto time(F&& f) {
    const Timed own(own_ms_);
    return f();
  }
  /// `f`, timed whenever it runs, which is while this lives.
  template <class F>
  auto timed(F f) {
    return [this, f = std::move(f)]() mutable { return time(f); };
  }

 private:
  void sent(double bytes, double messages) {
    traffic_.sent_bytes += bytes;
    traffic_.messages += messages;
  }
  double all_reduced(std::size_t bytes) const { return 2.0 * others_ * static_cast<double>(bytes) / ranks_; }
  double others_;
  double ranks_;
  double own_ms_ = 0;
  HookTraffic traffic_;  // but for the time
};

/// A hook that compresses float32 and ends its chain.
class CompressingHook : public BucketHook {
 public:
  explicit CompressingHook(Group group) : group_(std::move(group)), count_(group_.size()) {}
  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) final;
  bool exact() const override { return false; }
  HookTraffic traffic() const final { return count_.traffic(); }

 protected:
  virtual Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) = 0;
  /// What is not float32: its mean as it is.
  virtual Pending pass_on(const GradientBucket& bucket, torch::Tensor* contribution);

  Group group_;
  TrafficCount count_;
};

/// A hook that hands a smaller bucket on, and counts as dense what the whole one would have been.
class NarrowingHook : public BucketHook {
 public:
  explicit NarrowingHook(BucketHookPtr next) : next_(std::move(next)) {}
  bool exact() const override { return false; }
  HookTraffic traffic() const final;

 protected:
  /// `narrow` stands for `whole`.
  Pending hand_on(const GradientBucket& narrow, const torch::Tensor& whole, torch::Tensor* contribution);

  BucketHookPtr next_;
  TrafficCount own_{1};  ///< of the time

 private:
  double dense_bytes_ = 0;
};

/// The mean over ranks of `tensor`, which is contiguous, in place.
Pending mean_in_place(const Group& group, const torch::Tensor& tensor, const std::string& purpose);

/// "gradients of a, b (bucket 2), top_k(0.01)".
std::string purpose_of(const GradientBucket& bucket, const std::string& hook);

/// Zeroes what in `flat`, which is laid out as the bucket, belongs to no gradient.
void zero_gaps(const GradientBucket& bucket, torch::Tensor flat);

/// Complete when `first` is and `then` has run, once.
Pending finish_with(Pending first, std::function<void()> then);
/// Complete when `first` is and what `then` starts. That starts only in wait(), which ranks call in one order: done()
/// answers at moments of each rank's own, and collectives must start in the same order on all.
Pending continue_with(Pending first, std::function<Pending()> then);

/// Throws Error (kInvalidArgument) naming `hook`, unless 0 < fraction <= 1.
void require_fraction(double fraction, const std::string& hook);

}  // namespace lockstep
