#include "train/bucket_choice.h"

#include <lockstep/prediction.h>
#include <lockstep/traffic.h>

#include <algorithm>
#include <optional>

namespace lockstep {
namespace {

/// The first backward makes its memory, and buckets are laid out anew after it.
constexpr int kNotMeasured = 1;
constexpr std::size_t kMeasured = 3;

std::optional<Link> known_link(const Group& group) {
  if (auto given = given_link(group)) return given;
  if (!shares_memory(group)) return std::nullopt;
  try {
    return calibrated_link(group.size());
  } catch (const Error&) {
    return std::nullopt;  // a file that nobody can read: measured instead
  }
}

/// The same on all ranks, which may know different things.
Link agreed_link(const Group& group) {
  if (group.size() == 1) return {};
  const auto known = known_link(group);
  std::vector<double> numbers{known ? 1.0 : 0.0, known ? known->alpha_s : 0, known ? known->beta_s : 0};
  group.broadcast(buffer_of(numbers), 0, {.purpose = "what the link costs"}).wait();
  if (numbers[0] == 0) return measured_link(group);
  return {.alpha_s = numbers[1], .beta_s = numbers[2], .source = known ? known->source : "as rank 0 knows it"};
}

}  // namespace

BucketChoice::BucketChoice(const Group& group, const std::vector<GradientSize>& gradients)
    : group_(group), link_(agreed_link(group)), costs_(bucket_costs(link_, group.size())) {
  for (const GradientSize& gradient : gradients) costs_.bytes += gradient.bytes;
}

bool BucketChoice::note(const SyncReport& report) {
  if (group_.size() == 1 || !reason_.empty() || seen_++ < kNotMeasured) return false;
  backward_s_.push_back((report.backward_ms - report.exposed_in_backward_ms) / 1000);
  if (backward_s_.size() < kMeasured) return false;
  std::nth_element(backward_s_.begin(), backward_s_.begin() + kMeasured / 2, backward_s_.end());
  std::vector<double> mean{std::max(0.0, backward_s_[kMeasured / 2])};
  group_.all_reduce(buffer_of(mean), ReduceOp::kMean, {.purpose = "how long backward takes"}).wait();
  costs_.backward_s = mean.front();
  bucket_bytes_ = best_bucket_bytes(costs_);
  reason_ = why_bucket_bytes(costs_, link_.source);
  return true;
}

}  // namespace lockstep
