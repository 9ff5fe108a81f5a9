#include <fmt/format.h>
#include <lockstep/traffic.h>
#include <lockstep/training_log.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "train/bucket.h"

namespace lockstep {
namespace {

constexpr double kMuch = 0.2;  // of an iteration

bool reduces(const BucketTiming& timing) { return timing.operation != "all_gather"; }

std::vector<std::vector<std::string>> buckets_of(const SyncReport& report) {
  std::vector<std::vector<std::string>> buckets;
  for (const BucketTiming& timing : report.buckets) {
    if (reduces(timing)) buckets.push_back(timing.parameters);
  }
  return buckets;
}

double milliseconds(std::int64_t microseconds) { return static_cast<double>(microseconds) / 1000; }

/// Of one kind of time in two sums: what it is a piece.
template <class Times>
IterationTime time_of(double Times::*what, const Times& sum, const Times& last, std::int64_t iterations) {
  return {sum.*what / static_cast<double>(iterations), last.*what};
}

void add_buckets(TrainingStatistics& statistics, const SyncReport& report) {
  double predicted = 0;
  bool all = !report.buckets.empty();
  std::size_t largest = 0;
  for (const BucketTiming& timing : report.buckets) {
    statistics.wire_bytes += timing.wire_bytes;
    predicted += timing.predicted_ms.value_or(0);
    all = all && timing.predicted_ms.has_value();
    if (!reduces(timing)) continue;
    statistics.bucket_bytes.push_back(timing.bytes);
    if (timing.bytes < largest) continue;
    largest = timing.bytes;
    statistics.algorithm = timing.algorithm;
  }
  if (all) statistics.predicted_ms = predicted;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// What computing beside other ranks takes over computing alone.
double slowdown(const TrainingStatistics& s) {
  return s.alone_ms && s.world_size > 1 ? share(s.forward.mean_ms + s.backward_compute.mean_ms, *s.alone_ms) : 1;
}

std::string verdict(const TrainingStatistics& s) {
  const double exposed = share(s.least_exposed_ms, s.iteration.mean_ms);
  const std::string how_much =
      fmt::format("{:.0f} % of the iteration is exposed communication on the rank that has the least", 100 * exposed);
  if (s.bound == Bound::kNetwork) {
    return fmt::format("network-bound: {}, which the network is to blame for, not slower ranks", how_much);
  }
  if (s.bound == Bound::kMemory && exposed >= kMuch) {
    return fmt::format("memory-bound: {}, and the bytes move through this host's memory", how_much);
  }
  if (s.bound == Bound::kMemory) {
    return fmt::format(
        "memory-bound: computing takes {:.2f} times what it takes on one rank while the others wait, so "
        "ranks take memory's bandwidth, or cores, from each other",
        slowdown(s));
  }
  const double waited = share(s.exposed.mean_ms - s.least_exposed_ms, s.iteration.mean_ms);
  return fmt::format("compute-bound: {}{}", how_much,
                     waited >= kMuch ? fmt::format("; here it is {:.0f} % more, for this rank waits for slower ones: "
                                                   "give them smaller shares of the batch",
                                                   100 * waited)
                                     : "");
}

/// A sentence; empty if there is nothing to say.
std::string unreached_in_words(const std::vector<std::string>& parameters) {
  if (parameters.empty()) return "";
  return fmt::format(
      " No rank's backward reached {}: {}. Freeze what is not to be trained, by set_requires_grad(false) before the "
      "model is wrapped, and it is not sent; see that the loss depends on what is.",
      counted(parameters.size(), "parameter"), some_of(parameters));
}

}  // namespace

std::string to_string(Bound bound) {
  switch (bound) {
    case Bound::kCompute: return "compute-bound";
    case Bound::kNetwork: return "network-bound";
    case Bound::kMemory: return "memory-bound";
  }
  return "unknown";
}

Bound bound_of(const TrainingStatistics& statistics) {
  if (share(statistics.least_exposed_ms, statistics.iteration.mean_ms) >= kMuch) {
    return statistics.shares_memory ? Bound::kMemory : Bound::kNetwork;
  }
  return slowdown(statistics) >= 1 + kMuch ? Bound::kMemory : Bound::kCompute;
}

double scaling_efficiency_of(const TrainingStatistics& s) {
  const double alone = s.iteration.mean_ms - s.exposed.mean_ms;
  const double needed = s.alone_ms && s.world_size > 1 ? std::min(alone, *s.alone_ms + s.rest.mean_ms) : alone;
  return s.iteration.mean_ms > 0 ? std::clamp(needed / s.iteration.mean_ms, 0.0, 1.0) : 1;
}

TrainingLog::TrainingLog(const Group& group) : group_(group) {}

void TrainingLog::begin_iteration() { begun_us_ = now_us(); }

void TrainingLog::end_iteration(const SyncReport& report) {
  if (begun_us_ == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "TrainingLog: an iteration ends that was not begun: call begin_iteration() "
                "before its forward.");
  }
  last_ = times_of(report, begun_us_, now_us());
  begun_us_ = 0;
  for (const auto what : {&Times::iteration, &Times::forward, &Times::backward_compute, &Times::exposed, &Times::rest,
                          &Times::communication, &Times::hidden}) {
    sum_.*what += last_.*what;
  }
  ++iterations_;
  report_ = report;
  if (first_buckets_.empty()) first_buckets_ = buckets_of(report);
}

TrainingLog::Times TrainingLog::times_of(const SyncReport& report, std::int64_t begin_us, std::int64_t end_us) {
  Times times;
  times.iteration = milliseconds(end_us - begin_us);
  times.exposed = std::min(report.exposed_ms, times.iteration);
  times.backward_compute = std::max(0.0, report.backward_ms - report.exposed_in_backward_ms);
  const double until_gradient = milliseconds(report.last_gradient_us - begin_us) - report.backward_ms;
  times.forward = std::max(0.0, until_gradient - report.exposed_in_forward_ms);
  times.rest = std::max(0.0, times.iteration - times.exposed - times.backward_compute - times.forward);
  for (const BucketTiming& timing : report.buckets) {
    times.communication += milliseconds(timing.completed_us - timing.begun_us);
  }
  times.hidden = std::max(0.0, times.communication - times.exposed);
  return times;
}

void TrainingLog::restart() {
  iterations_ = 0;
  sum_ = {};
}

TrainingStatistics TrainingLog::statistics() const {
  if (iterations_ == 0) {
    throw Error(ErrorCode::kInvalidArgument, "TrainingLog: there is nothing to sum up before the first iteration.");
  }
  TrainingStatistics result;
  result.world_size = group_.size();
  result.iterations = iterations_;
  const auto of = [this](double Times::*what) { return time_of(what, sum_, last_, iterations_); };
  result.iteration = of(&Times::iteration);
  result.forward = of(&Times::forward);
  result.backward_compute = of(&Times::backward_compute);
  result.exposed = of(&Times::exposed);
  result.rest = of(&Times::rest);
  result.communication = of(&Times::communication);
  result.hidden = of(&Times::hidden);
  std::vector<double> least{result.exposed.mean_ms};
  group_.all_reduce(buffer_of(least), ReduceOp::kMin, {.purpose = "the least exposed communication"}).wait();
  result.least_exposed_ms = least.front();
  result.shares_memory = shares_memory(group_);
  result.first_buckets = first_buckets_;
  result.latest_buckets = buckets_of(report_);
  add_buckets(result, report_);
  result.bucket_choice = report_.bucket_choice;
  result.unreached = report_.unreached;
  result.alone_ms = alone_ms_;
  result.bound = bound_of(result);
  result.scaling_efficiency = scaling_efficiency_of(result);
  return result;
}

std::string describe(const TrainingStatistics& s) {
  const auto both = [](const IterationTime& time) {
    return fmt::format("{:.2f} ({:.2f})", time.mean_ms, time.last_ms);
  };
  std::string text = fmt::format(
      "{} on {}, in ms a piece, mean (and last): iteration {}: forward {}, computing backward {}, exposed "
      "communication "
      "{}, the rest {}. Communication was under way for {}, of which {} were hidden behind computing.",
      counted(static_cast<std::uint64_t>(s.iterations), "iteration"),
      counted(static_cast<std::uint64_t>(s.world_size), "rank"), both(s.iteration), both(s.forward),
      both(s.backward_compute), both(s.exposed), both(s.rest), both(s.communication), both(s.hidden));
  std::string sizes;
  for (const std::size_t bytes : s.bucket_bytes) sizes += (sizes.empty() ? "" : ", ") + format_bytes(bytes);
  text += fmt::format(
      " {} by {}: {}; {} sent a rank{}; {}.", counted(s.bucket_bytes.size(), "bucket"), s.algorithm, sizes,
      format_bytes(s.wire_bytes), s.predicted_ms ? fmt::format(", predicted to take {:.2f} ms", *s.predicted_ms) : "",
      s.first_buckets == s.latest_buckets
          ? "laid out as in the first iteration"
          : fmt::format("laid out anew since the first iteration, when there were {}", s.first_buckets.size()));
  if (!s.bucket_choice.empty()) text += fmt::format(" bucket_bytes = kAuto: {}.", s.bucket_choice);
  text += unreached_in_words(s.unreached);
  return text + fmt::format(
                    " It is {}. Scaling efficiency against one rank: {:.1f} % of the iteration is what {} would "
                    "need{}.",
                    verdict(s), 100 * s.scaling_efficiency, s.alone_ms ? "a rank alone" : "a rank",
                    s.alone_ms ? "" : " if communication cost nothing");
}

double measured_alone_ms(const Group& group, const std::function<void()>& compute, int times) {
  std::vector<double> taken;
  for (int turn = 0; turn < group.size(); ++turn) {
    if (turn == group.rank()) {
      compute();
      for (int i = 0; i < times; ++i) {
        const auto start = Clock::now();
        compute();
        taken.push_back(milliseconds_since(start));
      }
    }
    group.barrier({.purpose = "one rank computes alone"}).wait();
  }
  std::nth_element(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(taken.size() / 2), taken.end());
  std::vector<double> slowest{taken[taken.size() / 2]};
  group.all_reduce(buffer_of(slowest), ReduceOp::kMax, {.purpose = "what a rank takes alone"}).wait();
  return slowest.front();
}

}  // namespace lockstep
