#include "study/overlap.h"

#include "planner/one_host/host_work.h"
#include "schedule/text.h"

#include <algorithm>

namespace lockstep::study {

PredictedCommunication predict(const CostModel& model, const std::vector<BucketRecord>& buckets,
                               const Backward& backward) {
  double bytes = 0, come = 0, through_ms = 0;
  for (const BucketRecord& bucket : buckets) bytes += static_cast<double>(bucket.bytes);
  PredictedCommunication predicted;
  for (const BucketRecord& bucket : buckets) {
    Asked asked{.algorithm = bucket.algorithm,
                .ranks = backward.ranks,
                .bytes = static_cast<double>(bucket.bytes),
                .touched_between = kTouchedPerModelByte * bytes};
    if (!bucket.operation.empty()) asked.collective = parse_collective(bucket.operation);
    const double takes_ms = 1000 * model(asked);
    come += asked.bytes;
    predicted.all_ms += takes_ms;
    through_ms = std::max(through_ms, backward.milliseconds * come / bytes) + takes_ms;
  }
  predicted.exposed_ms = backward.shares_memory ? predicted.all_ms : std::max(0.0, through_ms - backward.milliseconds);
  return predicted;
}

}  // namespace lockstep::study
