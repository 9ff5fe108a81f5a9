#include "planner/tcp_model.h"

#include "base/index.h"
#include "planner/count.h"
#include "planner/relative_fit.h"
#include "topology/dealing.h"

#include <lockstep/error.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace lockstep {

namespace {

using BySize = std::array<double, TcpModel::kSizes.size()>;

/// How much each of the sizes counts for a buffer of so many bytes; 1 in all.
BySize shares_of_sizes(double bytes) {
  const auto& sizes = TcpModel::kSizes;
  BySize shares{};
  const double size = std::clamp(bytes, sizes.front(), sizes.back());
  const auto above = static_cast<std::size_t>(
      std::distance(sizes.begin(), std::lower_bound(std::next(sizes.begin()), sizes.end(), size)));
  const double share = std::log(size / sizes[above - 1]) / std::log(sizes[above] / sizes[above - 1]);
  shares[above] = share;
  shares[above - 1] = 1 - share;
  return shares;
}

/// What a core or a whole schedule has of each cost.
struct TcpWork {
  double steps = 0;
  double messages = 0;
  double bytes = 0;
  double reduced_bytes = 0;
};

/// Of each cost that of the core that has the most.
TcpWork tcp_work(const Schedule& schedule, double bytes, int cores) {
  const int shares = std::min(cores, schedule.ranks);
  std::vector<TcpWork> by_core(at(shares));
  const auto core_of = [&](int rank) -> TcpWork& { return by_core[at(share_of(rank, schedule.ranks, shares))]; };
  const double chunk = chunk_bytes(schedule, bytes);
  for (const Message& message : messages_of(schedule)) {
    for (TcpWork* work : {&core_of(message.from), &core_of(message.to)}) {
      work->messages += 0.5;
      work->bytes += 0.5 * chunk * message.chunks;
    }
    core_of(message.to).reduced_bytes += chunk * message.reduced_chunks;
  }
  TcpWork most{.steps = static_cast<double>(schedule.steps.size())};
  for (const TcpWork& work : by_core) {
    most.messages = std::max(most.messages, work.messages);
    most.bytes = std::max(most.bytes, work.bytes);
    most.reduced_bytes = std::max(most.reduced_bytes, work.reduced_bytes);
  }
  return most;
}

/// What a message costs depends on whether ranks have to share a core: of two numbers beside it that counts which has
/// as many ranks on a core, else both do.
TcpModel::Alpha alpha_of(int ranks, const TcpModel& model) {
  const auto on_a_core = [&](int number) { return (number + model.cores - 1) / model.cores; };
  const auto above = model.alpha.lower_bound(ranks);
  if (above->first == ranks) return above->second;
  const auto& [fewer, low] = *std::prev(above);
  const auto& [more, high] = *above;
  const bool is_low = on_a_core(fewer) == on_a_core(ranks);
  const bool is_high = on_a_core(more) == on_a_core(ranks);
  if (is_low != is_high) return is_low ? low : high;
  const double share = static_cast<double>(ranks - fewer) / (more - fewer);
  return {std::lerp(low.step_s, high.step_s, share), std::lerp(low.message_s, high.message_s, share)};
}

/// The order of costs in a row: for each number of ranks a step and a message, then bytes by size, then reduced bytes.
class Columns {
 public:
  Columns(const std::vector<Sample>& samples, int cores) : cores_(cores) {
    for (const Sample& sample : samples) ranks_.insert(sample.ranks);
  }

  std::vector<double> row(const Sample& sample) const {
    const TcpWork work = tcp_work(sample.job->schedule, sample.bytes, cores_);
    std::vector<double> row;
    for (const int ranks : ranks_) {
      row.push_back(ranks == sample.ranks ? work.steps : 0);
      row.push_back(ranks == sample.ranks ? work.messages : 0);
    }
    for (const double share : shares_of_sizes(sample.bytes)) row.push_back(share * work.bytes);
    row.push_back(work.reduced_bytes);
    return row;
  }

  TcpModel model(const std::vector<double>& prices) const {
    TcpModel model{.cores = cores_};
    auto price = prices.begin();
    for (const int ranks : ranks_) {
      TcpModel::Alpha& alpha = model.alpha[ranks];
      alpha.step_s = *price++;
      alpha.message_s = *price++;
    }
    for (double& beta : model.beta_s) beta = *price++;
    model.gamma_s = *price;
    return model;
  }

 private:
  std::set<int> ranks_;
  int cores_;
};

}  // namespace

bool TcpModel::knows(int ranks) const {
  return !alpha.empty() && alpha.begin()->first <= ranks && ranks <= alpha.rbegin()->first;
}

double TcpModel::predict(const Schedule& schedule, double bytes) const {
  const TcpWork work = tcp_work(schedule, bytes, cores);
  const Alpha cost = alpha_of(schedule.ranks, *this);
  const BySize shares = shares_of_sizes(bytes);
  double byte_s = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) byte_s += shares[i] * beta_s[i];
  return work.steps * cost.step_s + work.messages * cost.message_s + work.bytes * byte_s + work.reduced_bytes * gamma_s;
}

TcpModel fit_tcp(const std::vector<Sample>& samples, int cores) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate TCP by.");
  const Columns columns(samples, cores);
  Amounts amounts;
  std::vector<double> seconds;
  for (const Sample& sample : samples) {
    amounts.push_back(columns.row(sample));
    seconds.push_back(sample.seconds);
  }
  return columns.model(fit_relative(amounts, seconds));
}

}  // namespace lockstep
