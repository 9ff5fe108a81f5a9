#include "study/cost_model.h"

#include "planner/calibration/calibrated_timing.h"
#include "planner/network/pipelined.h"
#include "planner/pricing/price.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

namespace lockstep::study {

namespace {

using Key = std::tuple<std::string, Collective, int>;

Schedule schedule_of(const Asked& asked) {
  return schedule_for(asked.algorithm,
                      {.collective = asked.collective, .ranks = asked.ranks, .root = 0, .bytes = asked.bytes});
}

/// What `make` makes of a schedule, once for each.
template <class Made>
class Kept {
 public:
  template <class Make>
  const Made& get(const Asked& asked, const Make& make) {
    const Key key{asked.algorithm, asked.collective, asked.ranks};
    auto found = made_.find(key);
    if (found == made_.end()) found = made_.emplace(key, make(schedule_of(asked))).first;
    return found->second;
  }

 private:
  std::map<Key, Made> made_;
};

bool costs_nothing(const Asked& asked) { return asked.ranks < 2 || asked.bytes <= 0; }

}  // namespace

CostModel model_of(const Calibration& calibration) {
  return [calibration, timings = std::make_shared<Kept<CalibratedTiming>>()](const Asked& asked) {
    if (costs_nothing(asked)) return 0.0;
    const CalibratedTiming& timing = timings->get(asked, [&](Schedule schedule) {
      return CalibratedTiming(calibration, Medium::kSharedMemory, std::move(schedule));
    });
    return timing.seconds({asked.bytes, asked.touched_between});
  };
}

CostModel model_of(const std::map<int, FlatCost>& links) {
  return [links, schedules = std::make_shared<Kept<Schedule>>()](const Asked& asked) {
    if (costs_nothing(asked)) return 0.0;
    const auto link = links.find(asked.ranks);
    if (link == links.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("Nothing is known of a link between {} ranks: measure it first.", asked.ranks));
    }
    const Schedule& schedule = schedules->get(asked, [](Schedule made) { return made; });
    return pipelined_seconds(schedule, asked.bytes, Wiring(flat_network(asked.ranks, link->second)));
  };
}

FlatCost fit_ring(int ranks, const CollectiveTime& small, const CollectiveTime& large) {
  const double messages = 2.0 * (ranks - 1);
  FlatCost cost;
  cost.beta_s = std::max(0.0, (large.seconds - small.seconds) / (large.bytes - small.bytes) * ranks / messages);
  cost.alpha_s = std::max(0.0, small.seconds / messages - cost.beta_s * small.bytes / ranks);
  return cost;
}

}  // namespace lockstep::study
