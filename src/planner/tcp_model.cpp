#include "planner/tcp_model.h"

#include "planner/count.h"
#include "planner/relative_fit.h"

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

/// What a schedule has of each cost.
struct TcpWork {
  double steps = 0;
  double messages = 0;
  double bytes = 0;
  double reduced_bytes = 0;
};

TcpWork tcp_work(const Schedule& schedule, double bytes) {
  const Counts counts = count(schedule, bytes);
  TcpWork work{.steps = static_cast<double>(counts.steps),
               .messages = static_cast<double>(counts.messages),
               .bytes = counts.bytes};
  for (const Counts::Rank& rank : counts.by_rank) work.reduced_bytes += rank.reduced_bytes;
  return work;
}

TcpModel::Alpha between(const std::map<int, TcpModel::Alpha>& alpha, int ranks) {
  const auto above = alpha.lower_bound(ranks);
  if (above->first == ranks) return above->second;
  const auto& [fewer, low] = *std::prev(above);
  const double share = static_cast<double>(ranks - fewer) / (above->first - fewer);
  const auto mix = [share](double a, double b) { return a + share * (b - a); };
  return {mix(low.step_s, above->second.step_s), mix(low.message_s, above->second.message_s)};
}

/// The order of costs in a row: for each number of ranks a step and a message, then bytes by size, then reduced bytes.
class Columns {
 public:
  explicit Columns(const std::vector<Sample>& samples) {
    for (const Sample& sample : samples) ranks_.insert(sample.ranks);
  }

  std::vector<double> row(const Sample& sample) const {
    const TcpWork work = tcp_work(sample.job->schedule, sample.bytes);
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
    TcpModel model;
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
};

}  // namespace

bool TcpModel::knows(int ranks) const {
  return !alpha.empty() && alpha.begin()->first <= ranks && ranks <= alpha.rbegin()->first;
}

double TcpModel::predict(const Schedule& schedule, double bytes) const {
  const TcpWork work = tcp_work(schedule, bytes);
  const Alpha cost = between(alpha, schedule.ranks);
  const BySize shares = shares_of_sizes(bytes);
  double byte_s = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) byte_s += shares[i] * beta_s[i];
  return work.steps * cost.step_s + work.messages * cost.message_s + work.bytes * byte_s + work.reduced_bytes * gamma_s;
}

TcpModel fit_tcp(const std::vector<Sample>& samples) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate TCP by.");
  const Columns columns(samples);
  Amounts amounts;
  std::vector<double> seconds;
  for (const Sample& sample : samples) {
    amounts.push_back(columns.row(sample));
    seconds.push_back(sample.seconds);
  }
  return columns.model(fit_relative(amounts, seconds));
}

}  // namespace lockstep
