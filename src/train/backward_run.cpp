#include "train/backward_run.h"

#include "train/sync_timing.h"

namespace lockstep {
BackwardRun::BackwardRun(Group group, const DataParallelOptions& options, std::shared_ptr<const BucketSet> buckets,
                         std::size_t parameters)
    : group_(std::move(group)),
      options_(options),
      buckets_(std::move(buckets)),
      has_(parameters),
      first_gradient_us_(now_us()) {
  for (const Bucket& bucket : buckets_->buckets()) missing_.push_back(bucket.slots().size());
  flights_.reserve(missing_.size());
}

void BackwardRun::note(std::size_t parameter) {
  has_[parameter] = true;
  order_.push_back(parameter);
  note();
}

void BackwardRun::advance(std::size_t parameter) {
  --missing_[buckets_->bucket_of(parameter)];
  if (!options_.overlap) return;
  Timed exposed(report_.exposed_ms);
  while (flights_.size() < missing_.size() && missing_[flights_.size()] == 0) launch_next();
  group_.progress();
  for (std::size_t i = 0; i < flights_.size(); ++i) {
    if (!flights_[i].done && flights_[i].pending.done()) land(i);
  }
}

void BackwardRun::complete(Buffer used) {
  Timed exposed(report_.exposed_ms);
  while (flights_.size() < missing_.size()) launch_next();
  Pending reached = group_.all_reduce(used, ReduceOp::kMax, {.purpose = "which parameters got a gradient"});
  for (std::size_t i = 0; i < flights_.size(); ++i) {
    if (flights_[i].done) continue;
    flights_[i].pending.wait();
    land(i);
  }
  reached.wait();
}

void BackwardRun::launch_next() {
  const Bucket& bucket = buckets_->buckets()[flights_.size()];
  const Buffer buffer = bucket.buffer();
  report_.buckets.push_back({.index = bucket.gradient().index,
                             .parameters = bucket.gradient().parameters,
                             .bytes = buffer.bytes(),
                             .algorithm = algorithm_for(buffer.bytes()),
                             .launched_us = now_us()});
  report_.bytes += buffer.bytes();
  flights_.push_back({options_.communication_hook
                          ? options_.communication_hook(bucket.gradient())
                          : group_.all_reduce(buffer, ReduceOp::kMean,
                                              {.algorithm = options_.algorithm, .purpose = bucket.purpose()})});
}

std::string BackwardRun::algorithm_for(std::size_t bytes) const {
  if (options_.communication_hook) return "communication_hook";
  return group_.algorithm_for(Collective::kAllReduce, bytes, {.algorithm = options_.algorithm});
}

void BackwardRun::land(std::size_t index) {
  flights_[index].done = true;
  report_.buckets[index].completed_us = now_us();
}

SyncReport BackwardRun::report() const { return finished(report_, first_gradient_us_); }

}  // namespace lockstep
