#include <fmt/format.h>
#include <lockstep/uneven.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "train/batch_share.h"
#include "train/gradient_listeners.h"

namespace lockstep::detail {
namespace {

[[noreturn]] void refuse_batch(ErrorCode code, const std::string& why) {
  throw Error(code, why, {.operation = "join_batches"});
}

}  // namespace

BatchAgreement::BatchAgreement(const Group& group, Uneven uneven) : group_(group), uneven_(uneven) {
  const auto& share = group_.attribute<BatchShare>();
  share_before_ = {share.local, share.global};
}

BatchAgreement::~BatchAgreement() { group_.attribute<BatchShare>() = {share_before_.first, share_before_.second}; }

bool BatchAgreement::next(std::int64_t samples) {
  group_.attribute<GradientListeners>().end_iteration();
  const auto ranks = static_cast<std::size_t>(group_.size());
  std::vector<std::int64_t> counts(ranks);
  counts[static_cast<std::size_t>(group_.rank())] = samples;
  group_.all_gather(buffer_of(counts), {.purpose = "samples of the ranks' next batches"}).wait();

  const auto out = std::find(counts.begin(), counts.end(), kNone);
  if (static_cast<std::size_t>(std::count(counts.begin(), counts.end(), kNone)) == ranks) return false;
  if (out != counts.end() && (first_ || uneven_ == Uneven::kError)) {
    refuse_batch(first_ ? ErrorCode::kInvalidArgument : ErrorCode::kMismatch,
                 fmt::format("Rank {} has no batch {}: {}.", out - counts.begin(),
                             first_ ? "at all, and others have some" : "any more, and others have some",
                             first_ ? "give each rank at least one"
                                    : "give all ranks equally many, or let it shadow the others"));
  }
  first_ = false;
  const std::int64_t total =
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                      [](std::int64_t sum, std::int64_t n) { return sum + std::max(n, std::int64_t{0}); });
  if (total == 0) {
    refuse_batch(ErrorCode::kInvalidArgument, "No rank's batch has any samples: there is no mean of none.");
  }
  group_.attribute<BatchShare>() = {std::max(samples, std::int64_t{0}), total};
  return true;
}

}  // namespace lockstep::detail
