#include "train/bucket_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "train/layout.h"

namespace lockstep {
namespace {

constexpr double kLeastBucketBytes = 64 << 10;  // below, what a bucket costs beside its messages counts

/// Seconds of backward in which one byte of gradients comes.
double pace(const BucketCosts& costs) { return costs.backward_s / static_cast<double>(costs.bytes); }

/// Whether the link moves bytes faster than they come.
bool keeps_up(const BucketCosts& costs) { return costs.beta_s <= pace(costs); }

}  // namespace

BucketCosts bucket_costs(const Link& link, int ranks) {
  const double messages = 2.0 * (ranks - 1);
  return {.alpha_s = messages * link.alpha_s, .beta_s = messages / ranks * link.beta_s};
}

std::size_t best_bucket_bytes(const BucketCosts& costs) {
  const auto all = static_cast<double>(costs.bytes);
  const double divisor = std::min(costs.beta_s, pace(costs));
  const double best = divisor > 0 ? std::sqrt(all * costs.alpha_s / divisor) : all;
  const double lines = std::ceil(std::clamp(best, std::min(kLeastBucketBytes, all), all) / kSlotAlignment);
  return static_cast<std::size_t>(lines) * kSlotAlignment;
}

double added_s(const BucketCosts& costs, double bucket_bytes) {
  const auto all = static_cast<double>(costs.bytes);
  const double alphas = all / bucket_bytes * costs.alpha_s;
  const double last = bucket_bytes * costs.beta_s;
  const double queue = bucket_bytes * pace(costs) + all * costs.beta_s - costs.backward_s;
  return alphas + std::max(last, queue);
}

std::string why_bucket_bytes(const BucketCosts& costs, const std::string& source) {
  const auto best = best_bucket_bytes(costs);
  const auto all = static_cast<double>(costs.bytes);
  return fmt::format(
      "buckets of {} for {} of gradients, which come in {:.3g} ms of backward: a bucket costs {:.3g} us and {:.3g} ms "
      "a "
      "MiB ({}), so the link {}; predicted to add {:.3g} ms",
      format_bytes(best), format_bytes(costs.bytes), costs.backward_s * 1e3, costs.alpha_s * 1e6,
      costs.beta_s * 1e3 * (1 << 20), source,
      keeps_up(costs) ? "keeps up, and the last bucket's time stands against the cost of many"
                      : "does not keep up, and an early start stands against the cost of many",
      added_s(costs, std::min(static_cast<double>(best), all)) * 1e3);
}

}  // namespace lockstep
