#include "train/backward_run.h"

#include <lockstep/traffic.h>

#include "train/sync_timing.h"

namespace lockstep {
namespace {

/// What a communication hook asks of the group while this lives is its bucket's. A hook's operations start only when
/// the hook is called or what it returned is asked how it stands.
class Counted {
 public:
  Counted(const Group& group, const DataParallelOptions& options, BucketTiming& timing)
      : group_(group), timing_(options.communication_hook ? &timing : nullptr) {
    if (timing_ != nullptr) before_ = operations_asked(group_);
  }
  ~Counted() {
    if (timing_ == nullptr) return;
    const OperationTotals after = operations_asked(group_);
    timing_->steps += static_cast<int>(after.steps - before_.steps);
    timing_->wire_bytes += after.wire_bytes - before_.wire_bytes;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  const Group& group_;
  BucketTiming* timing_;
  OperationTotals before_;
};

}  // namespace

BackwardRun::BackwardRun(Group group, const DataParallelOptions& options, std::shared_ptr<const BucketSet> buckets,
                         const Arrivals& expected)
    : group_(std::move(group)),
      options_(options),
      buckets_(std::move(buckets)),
      came_(expected.size()),
      first_gradient_us_(now_us()) {
  for (const Bucket& bucket : buckets_->buckets()) {
    missing_.push_back(0);
    for (const Slot& slot : bucket.layout().slots) missing_.back() += expected[slot.parameter];
  }
  flights_.reserve(missing_.size());
}

void BackwardRun::note(std::size_t parameter) {
  if (came_[parameter]++ > 0) std::erase(order_, parameter);
  order_.push_back(parameter);
  note();
}

void BackwardRun::advance(std::size_t parameter) {
  --missing_[buckets_->bucket_of(parameter)];
  if (!options_.overlap) return;
  Timed exposed(report_.exposed_ms);
  while (flights_.size() < missing_.size() && missing_[flights_.size()] == 0) launch_next();
  group_.progress();
  for (std::size_t i = 0; i < flights_.size(); ++i) land_if_done(i);
}

void BackwardRun::complete(Buffer used) {
  Timed exposed(report_.exposed_ms);
  while (flights_.size() < missing_.size()) launch_next();
  Pending reached = group_.all_reduce(used, ReduceOp::kMax, {.purpose = "which parameters got a gradient"});
  for (std::size_t i = 0; i < flights_.size(); ++i) {
    if (flights_[i].done) continue;
    {
      const Counted counted(group_, options_, report_.buckets[i]);
      flights_[i].pending.wait();
    }
    land(i);
  }
  reached.wait();
}

void BackwardRun::launch_next() {
  const Bucket& bucket = buckets_->buckets()[flights_.size()];
  const Buffer buffer = bucket.buffer();
  BucketTiming& timing = report_.buckets.emplace_back();
  timing.index = bucket.gradient().index;
  timing.parameters = bucket.gradient().parameters;
  timing.bytes = buffer.bytes();
  timing.operation = to_string(Collective::kAllReduce);
  timing.phase = kBackwardPhase;
  timing.launched_us = now_us();
  report_.bytes += buffer.bytes();
  if (options_.communication_hook) {
    timing.algorithm = "communication_hook";
    timing.begun_us = timing.launched_us;
    const Counted counted(group_, options_, timing);
    bucket.clear_gaps();
    flights_.push_back({nullptr, options_.communication_hook(bucket.gradient())});
    return;
  }
  timing.predicted_ms = bucket.predicted_ms();
  const auto record = std::make_shared<OperationRecord>();
  flights_.push_back(
      {record,
       group_.all_reduce(
           buffer, ReduceOp::kMean,
           {.algorithm = options_.algorithm, .purpose = bucket.purpose(), .record = record, .in_background = true})});
}

void BackwardRun::land_if_done(std::size_t index) {
  if (flights_[index].done) return;
  bool done = false;
  {
    const Counted counted(group_, options_, report_.buckets[index]);
    done = flights_[index].pending.done();
  }
  if (done) land(index);
}

void BackwardRun::land(std::size_t index) {
  flights_[index].done = true;
  BucketTiming& timing = report_.buckets[index];
  if (flights_[index].record) {
    take_over(timing, *flights_[index].record);
  } else {
    timing.completed_us = now_us();
  }
}

SyncReport BackwardRun::report() const { return finished(report_, first_gradient_us_); }

}  // namespace lockstep
