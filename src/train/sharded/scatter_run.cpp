#include "train/sharded/scatter_run.h"

#include <algorithm>

#include "train/sync_timing.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

/// Buffers on their way while the next one fills: more would hide little and hold memory.
constexpr std::size_t kMostInFlight = 1;

}  // namespace

ScatterRun::ScatterRun(Group group, std::shared_ptr<BufferPool> pool, ScatterOptions options,
                       std::vector<std::shared_ptr<PieceGradients>> flats)
    : group_(std::move(group)),
      pool_(std::move(pool)),
      options_(std::move(options)),
      flats_(std::move(flats)),
      loads_(flats_.size()),
      first_gradient_us_(now_us()) {
  for (std::size_t f = 0; f < flats_.size(); ++f) loads_[f].missing = flats_[f]->flat().size();
}

ScatterRun::~ScatterRun() {
  for (Load& load : loads_) {
    load.pending = {};
    if (load.buffer.data() != nullptr) pool_->give_back(std::move(load.buffer));
  }
}

std::vector<std::size_t> ScatterRun::order() const {
  std::vector<std::size_t> order = full_;
  for (std::size_t f = 0; f < loads_.size(); ++f) {
    if (std::find(full_.begin(), full_.end(), f) == full_.end()) order.push_back(f);
  }
  return order;
}

torch::Tensor ScatterRun::slot(std::size_t flat, std::size_t parameter) const {
  const ShardedFlat& values = flats_[flat]->flat();
  return tensor_like(values.whole(parameter), loads_[flat].buffer, values.layout().bucket.slots[parameter].offset);
}

void ScatterRun::prepare(std::size_t flat) {
  Load& load = loads_[flat];
  if (load.buffer.data() != nullptr) return;
  while (in_flight_.size() > kMostInFlight) land_oldest();
  const ShardedFlat& values = flats_[flat]->flat();
  load.buffer = pool_->take(values.layout().bucket.bytes);
  load.has.assign(values.size(), false);
}

void ScatterRun::take(std::size_t flat, std::size_t parameter, const torch::Tensor& gradient) {
  prepare(flat);
  Load& load = loads_[flat];
  slot(flat, parameter).copy_(gradient);
  load.has[parameter] = true;
  if (--load.missing == 0) full_.push_back(flat);
  report_.last_gradient_us = now_us();
}

void ScatterRun::advance() {
  if (!options_.overlap) return;
  const Timed exposed(report_.exposed_ms);
  launch_full();
  group_.progress();
  while (!in_flight_.empty() && loads_[in_flight_.front()].pending.done()) land_oldest();
}

void ScatterRun::launch_full() {
  const auto& order = options_.order.empty() ? full_ : options_.order;
  while (launched_ < order.size() && loads_[order[launched_]].missing == 0) launch(order[launched_++]);
}

void ScatterRun::launch(std::size_t flat) {
  Load& load = loads_[flat];
  const ShardedFlat& values = flats_[flat]->flat();
  const BucketLayout& bucket = values.layout().bucket;
  load.left = true;
  load.timing = report_.buckets.size();
  BucketTiming timing{.index = static_cast<int>(flat), .bytes = bucket.bytes, .launched_us = now_us()};
  for (std::size_t i = 0; i < values.size(); ++i) timing.parameters.push_back(values.parameter(i).name);
  timing.algorithm = group_.algorithm_for(Collective::kReduceScatter, bucket.bytes, {.algorithm = options_.algorithm});
  report_.buckets.push_back(std::move(timing));
  report_.bytes += bucket.bytes;
  load.pending =
      group_.reduce_scatter({load.buffer.data(), bucket.bytes / size_of(bucket.dtype), bucket.dtype}, ReduceOp::kMean,
                            {.algorithm = options_.algorithm, .purpose = "gradients of " + values.names()});
  in_flight_.push_back(flat);
}

void ScatterRun::land_oldest() {
  const std::size_t flat = in_flight_.front();
  in_flight_.pop_front();
  Load& load = loads_[flat];
  load.pending.wait();
  flats_[flat]->add(load.buffer);
  pool_->give_back(std::move(load.buffer));
  load.buffer = {};
  report_.buckets[load.timing].completed_us = now_us();
}

void ScatterRun::complete() {
  const Timed exposed(report_.exposed_ms);
  launch_full();
  const auto order = options_.order.empty() ? this->order() : options_.order;
  for (const std::size_t flat : order) {
    if (loads_[flat].left) continue;
    prepare(flat);
    for (std::size_t i = 0; i < loads_[flat].has.size(); ++i) {
      if (!loads_[flat].has[i]) slot(flat, i).zero_();
    }
    launch(flat);
  }
  while (!in_flight_.empty()) land_oldest();
}

SyncReport ScatterRun::report() const { return finished(report_, first_gradient_us_); }

}  // namespace lockstep
