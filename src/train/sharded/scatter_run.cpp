#include "train/sharded/scatter_run.h"
#include "train/local_gradient.h"

#include <algorithm>

#include "train/sync_timing.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

/// Buffers on their way while the next one fills: more would hide little and hold memory.
constexpr std::size_t kMostInFlight = 1;

}  // namespace

ScatterRun::ScatterRun(ShardGroups groups, std::shared_ptr<BufferPool> pool, ScatterOptions options,
                       std::vector<std::shared_ptr<PieceGradients>> flats)
    : groups_(std::move(groups)),
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
  Load& load = loads_[flat];
  const bool came = load.left || (!load.has.empty() && load.has[parameter]);
  if (came) refuse_second_gradient(flats_[flat]->flat().name_of(parameter), groups_.shards.rank(), "Sharded");
  {
    const Timed exposed(report_.exposed_ms);
    prepare(flat);
  }
  slot(flat, parameter).copy_(gradient);
  load.has[parameter] = true;
  if (--load.missing == 0) full_.push_back(flat);
  report_.last_gradient_us = now_us();
  report_.exposed_in_backward_ms = report_.exposed_ms;
}

void ScatterRun::advance() {
  if (!options_.overlap) return;
  const Timed exposed(report_.exposed_ms);
  launch_full();
  groups_.shards.progress();
  if (groups_.copies) groups_.copies->progress();
  for (const std::size_t flat : in_flight_) {  // in this order on all ranks
    if (loads_[flat].between) continue;
    if (!loads_[flat].pending.done()) break;
    begin_between(flat);
  }
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
  sequence_.note("reduce", std::to_string(flat));
  begin_timing(flat, Collective::kReduceScatter).predicted_ms = flats_[flat]->predicted_ms();
  report_.bytes += bucket.bytes;
  load.pending = groups_.shards.reduce_scatter({load.buffer.data(), bucket.bytes / size_of(bucket.dtype), bucket.dtype},
                                               ReduceOp::kMean,
                                               {.algorithm = options_.algorithm,
                                                .purpose = "gradients of " + values.names(),
                                                .record = load.record,
                                                .in_background = true});
  in_flight_.push_back(flat);
}

BucketTiming& ScatterRun::begin_timing(std::size_t flat, Collective collective) {
  loads_[flat].timing = report_.buckets.size();
  loads_[flat].record = std::make_shared<OperationRecord>();
  BucketTiming& timing = report_.buckets.emplace_back(flats_[flat]->flat().described(collective));
  timing.index = static_cast<int>(flat);
  timing.phase = kBackwardPhase;
  timing.launched_us = now_us();
  return timing;
}

void ScatterRun::begin_between(std::size_t flat) {
  Load& load = loads_[flat];
  if (load.between || !groups_.copies) return;
  load.between = true;
  take_over(report_.buckets[load.timing], *load.record);
  const FlatLayout& layout = flats_[flat]->flat().layout();
  const ByteRange own = layout.piece(static_cast<std::size_t>(groups_.shards.rank()));
  begin_timing(flat, Collective::kAllReduce).bytes = own.size();
  load.pending = groups_.copies->all_reduce({static_cast<std::byte*>(load.buffer.data()) + own.begin,
                                             own.size() / size_of(layout.bucket.dtype), layout.bucket.dtype},
                                            ReduceOp::kMean,
                                            {.purpose = "gradients, between hosts, of " + flats_[flat]->flat().names(),
                                             .record = load.record,
                                             .in_background = true});
}

void ScatterRun::land_oldest() {
  const std::size_t flat = in_flight_.front();
  Load& load = loads_[flat];
  load.pending.wait();
  begin_between(flat);
  load.pending.wait();
  in_flight_.pop_front();
  flats_[flat]->add(load.buffer);
  pool_->give_back(std::move(load.buffer));
  load.buffer = {};
  take_over(report_.buckets[load.timing], *load.record);
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
