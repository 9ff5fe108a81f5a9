#include "train/hooks/hook_base.h"

#include <fmt/format.h>

#include "train/bucket.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

class Finishing : public Operation {
 public:
  Finishing(Pending first, std::function<void()> then) : first_(std::move(first)), then_(std::move(then)) {}
  bool advance() override {
    if (!first_.done()) return false;
    finish();
    return true;
  }
  void wait() override {
    first_.wait();
    finish();
  }
  void abandon() override { first_.abandon(); }

 private:
  void finish() {
    torch::NoGradGuard no_grad;
    if (const auto then = std::exchange(then_, nullptr)) then();
  }
  Pending first_;
  std::function<void()> then_;
};

class Continuing : public Operation {
 public:
  Continuing(Pending first, std::function<Pending()> then) : first_(std::move(first)), then_(std::move(then)) {}
  bool advance() override { return false; }
  void wait() override {
    first_.wait();
    torch::NoGradGuard no_grad;
    if (then_) then_().wait();
  }
  void abandon() override {
    then_ = nullptr;
    first_.abandon();
  }

 private:
  Pending first_;
  std::function<Pending()> then_;
};

class AllReduceHook : public BucketHook {
 public:
  explicit AllReduceHook(Group group) : group_(std::move(group)), count_(group_.size()) {}
  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) override {
    count_.dense(bucket);
    count_.all_reduce(bucket.flat.nbytes());
    if (contribution) *contribution = bucket.flat.clone();
    return mean_in_place(group_, bucket.flat, purpose_of(bucket, name()));
  }
  bool exact() const override { return true; }
  std::string name() const override { return "all_reduce"; }
  HookTraffic traffic() const override { return count_.traffic(); }

 private:
  Group group_;
  TrafficCount count_;
};

}  // namespace

Pending CompressingHook::reduce(const GradientBucket& bucket, torch::Tensor* contribution) {
  torch::NoGradGuard no_grad;
  count_.dense(bucket);
  if (bucket.flat.scalar_type() == torch::kFloat32) {
    return count_.time([&] { return compress(bucket, contribution); });
  }
  return pass_on(bucket, contribution);
}

Pending CompressingHook::pass_on(const GradientBucket& bucket, torch::Tensor* contribution) {
  count_.all_reduce(bucket.flat.nbytes());
  if (contribution) *contribution = bucket.flat.clone();
  return mean_in_place(group_, bucket.flat, purpose_of(bucket, "all_reduce"));
}

HookTraffic NarrowingHook::traffic() const {
  HookTraffic traffic = next_->traffic();
  traffic.dense_bytes = dense_bytes_;
  traffic.hook_seconds += own_.traffic().hook_seconds;
  return traffic;
}

Pending NarrowingHook::hand_on(const GradientBucket& narrow, const torch::Tensor& whole, torch::Tensor* contribution) {
  const double before = next_->traffic().dense_bytes;
  auto pending = next_->reduce(narrow, contribution);
  const double share = static_cast<double>(narrow.flat.nbytes()) / static_cast<double>(whole.nbytes());
  dense_bytes_ += (next_->traffic().dense_bytes - before) / share;
  return pending;
}

Pending mean_in_place(const Group& group, const torch::Tensor& tensor, const std::string& purpose) {
  return group.all_reduce(buffer_of(tensor), ReduceOp::kMean, {.purpose = purpose, .in_background = true});
}

std::string purpose_of(const GradientBucket& bucket, const std::string& hook) {
  return fmt::format("gradients of {} (bucket {}), {}", some_of(bucket.parameters), bucket.index, hook);
}

void zero_gaps(const GradientBucket& bucket, torch::Tensor flat) {
  std::int64_t end = 0;
  const auto zero_to = [&](std::int64_t begin) {
    if (begin > end) flat.narrow(0, end, begin - end).zero_();
  };
  for (const auto& gradient : bucket.gradients) {
    const auto begin = static_cast<const char*>(gradient.data_ptr()) - static_cast<const char*>(bucket.flat.data_ptr());
    zero_to(begin / static_cast<std::int64_t>(gradient.element_size()));
    end = begin / static_cast<std::int64_t>(gradient.element_size()) + gradient.numel();
  }
  if (!bucket.gradients.empty()) zero_to(flat.numel());
}

Pending finish_with(Pending first, std::function<void()> then) {
  return Pending(std::make_shared<Finishing>(std::move(first), std::move(then)));
}

Pending continue_with(Pending first, std::function<Pending()> then) {
  return Pending(std::make_shared<Continuing>(std::move(first), std::move(then)));
}

void require_fraction(double fraction, const std::string& hook) {
  if (fraction > 0 && fraction <= 1) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{}({}): the fraction of values that are sent must be above 0 and at most 1.", hook, fraction));
}

BucketHookPtr all_reduce_hook(const Group& group) { return std::make_shared<AllReduceHook>(group); }

CommunicationHook use(BucketHookPtr hook) {
  return [hook = std::move(hook)](const GradientBucket& bucket) {
    torch::NoGradGuard no_grad;
    return hook->reduce(bucket, nullptr);
  };
}

}  // namespace lockstep
