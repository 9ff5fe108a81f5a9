#include "algorithms/catalog.h"
#include "group/opened.h"
#include "planner/calibration.h"
#include "planner/pipelined.h"

#include <lockstep/prediction.h>

#include <map>
#include <string>
#include <utility>

namespace lockstep {

namespace {

/// Of more, simulating one takes longer than a tenth of a second.
constexpr double kMostPricedTransfers = 20'000;

/// What a group's predictions are made of, kept from one to the next.
struct Predictions {
  std::optional<Link> link;
  double touched_between = 0;  ///< as in HostOperation
  bool looked = false;         ///< for a calibration
  std::optional<Calibration> calibration;
  std::map<std::pair<std::string, Collective>, HostJob> jobs;
};

const std::optional<Calibration>& calibration_of(Predictions& known) {
  if (!known.looked) {
    known.looked = true;
    try {
      known.calibration = stored_calibration(this_machine());
    } catch (const Error&) {
      // Says "auto" already (planner/in_force.h); a file that nobody can read predicts nothing.
    }
  }
  return known.calibration;
}

double transfers_of(const Schedule& schedule) {
  std::size_t transfers = 0;
  for (const Step& step : schedule.steps) transfers += step.size();
  return static_cast<double>(transfers);
}

}  // namespace

std::optional<double> predicted_ms(const Group& group, Collective collective, std::size_t bytes,
                                   const OperationOptions& options, DataType dtype) {
  const std::string algorithm = group.algorithm_for(collective, bytes, options, dtype);
  const int ranks = group.size();
  if (ranks == 1 || algorithm == kVendor) return std::nullopt;
  auto& known = group.attribute<Predictions>();
  auto& state = detail::Opened(group).state();
  const auto size = static_cast<double>(bytes);
  if (known.link) {
    const Schedule& schedule = state.schedules().get(algorithm, collective, 0);
    if (transfers_of(schedule) > kMostPricedTransfers) return std::nullopt;
    const Wiring wiring(flat_network(ranks, {.alpha_s = known.link->alpha_s, .beta_s = known.link->beta_s}));
    return 1000 * pipelined_seconds(schedule, size, wiring);
  }
  if (state.engine().medium() != Medium::kSharedMemory || ranks > kMostSelectedRanks) return std::nullopt;
  const auto& calibration = calibration_of(known);
  if (!calibration) return std::nullopt;
  auto job = known.jobs.find({algorithm, collective});
  if (job == known.jobs.end()) {
    HostJob made(state.schedules().get(algorithm, collective, 0));
    job = known.jobs.emplace(std::pair{algorithm, collective}, std::move(made)).first;
  }
  return 1000 * predicted_seconds(*calibration, job->second, {size, known.touched_between});
}

std::optional<Link> given_link(const Group& group) { return group.attribute<Predictions>().link; }

void predict_in_training(const Group& group, std::size_t model_bytes) {
  group.attribute<Predictions>().touched_between = kTouchedPerModelByte * static_cast<double>(model_bytes);
}

void predict_by(const Group& group, const Link& link) { group.attribute<Predictions>().link = link; }

}  // namespace lockstep
