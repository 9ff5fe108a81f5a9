#include "planner/one_host/tcp_model.h"

#include "planner/one_host/fit_costs.h"

#include <lockstep/error.h>

#include <algorithm>
#include <map>

namespace lockstep {

namespace {

/// To begin with, so that it is roughly known who waits for whom: a processor of 2023.
TcpCosts first_guess_over_tcp() {
  TcpCosts seconds;
  seconds[TcpCost::kOperation] = 1e-6;
  seconds[TcpCost::kMessage] = 4e-6;
  seconds[TcpCost::kContendedMessage] = 1e-6;
  seconds[TcpCost::kVain] = 1e-6;
  seconds[TcpCost::kSwitch] = 3e-6;
  seconds[TcpCost::kCrossing] = 1e-7;
  for (std::size_t size = 0; size < TcpCost::kSizes.size(); ++size) seconds[TcpCost::kByte + size] = 2e-10;
  seconds[TcpCost::kContendedByte] = 5e-11;
  seconds[TcpCost::kReducedByte] = 5e-11;
  seconds[TcpCost::kColdByte] = 5e-11;
  seconds[TcpCost::kContendedColdByte] = 5e-11;
  return seconds;
}

}  // namespace

double TcpModel::predict(const TcpJob& job, double bytes) const {
  return work_of(job, bytes, cores, seconds) * seconds;
}

TcpModel fit_tcp(const std::vector<Sample>& samples, int cores) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate TCP by.");
  TcpModel model{.seconds = first_guess_over_tcp(), .cores = cores};
  std::map<const HostJob*, TcpJob> jobs;
  for (const Sample& sample : samples) {
    jobs.try_emplace(sample.job.get(), sample.job->schedule);
    model.most_ranks = std::max(model.most_ranks, sample.ranks);
  }
  model.seconds = fit_costs(model.seconds, samples, [&](const Sample& sample, const TcpCosts& prices) {
    return work_of(jobs.at(sample.job.get()), sample.bytes, cores, prices);
  });
  return model;
}

}  // namespace lockstep
