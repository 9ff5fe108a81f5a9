#include "train/sharded/block_schedule.h"

#include <algorithm>

namespace lockstep {

std::size_t BlockSchedule::add(std::vector<ShardedFlat*> trained, std::vector<ShardedFlat*> fixed) {
  Block block{.trained = std::move(trained), .fixed = std::move(fixed)};
  for (const ShardedFlat* flat : block.trained) block.parameters += flat->size();
  blocks_.push_back(std::move(block));
  return blocks_.size() - 1;
}

bool BlockSchedule::is_whole(std::size_t block) const {
  const auto whole = [](const ShardedFlat* flat) { return flat->is_whole(); };
  const Block& b = blocks_[block];
  return std::all_of(b.trained.begin(), b.trained.end(), whole) && std::all_of(b.fixed.begin(), b.fixed.end(), whole);
}

void BlockSchedule::before_forward(std::size_t block, bool records_graph) {
  gather(block);
  if (records_graph) {
    if (last_forward_) blocks_[*last_forward_].next_forward = block;
    last_forward_ = block;
  }
  if (options_.prefetch && blocks_[block].next_forward) begin_gather(*blocks_[block].next_forward);
}

void BlockSchedule::after_forward(std::size_t block, bool records_graph) {
  if (!records_graph || options_.reshard_after_forward) release(block);
}

void BlockSchedule::begin_backward() {
  last_forward_.reset();
  last_backward_.reset();
  for (Block& block : blocks_) block.missing = block.parameters;
}

void BlockSchedule::before_backward(std::size_t block) {
  gather(block);
  if (last_backward_ == block) return;
  if (last_backward_) blocks_[*last_backward_].next_backward = block;
  last_backward_ = block;
  const auto next = blocks_[block].next_backward;
  if (options_.prefetch && next && blocks_[*next].missing > 0) begin_gather(*next);
}

void BlockSchedule::gradient_came(std::size_t block) {
  if (--blocks_[block].missing > 0 || held_) return;
  // Fixed parameters may be read yet, further towards the input; and so may detached copies that a graph holds.
  for (ShardedFlat* flat : blocks_[block].trained) {
    if (!flat->is_held_elsewhere()) flat->release();
  }
}

void BlockSchedule::end_backward() {
  last_backward_.reset();
  release_all();
}

void BlockSchedule::hold_whole(bool on) {
  if (on) {
    for (const Block& block : blocks_) {
      for (ShardedFlat* flat : block.trained) flat->begin_exact_gather();
      for (ShardedFlat* flat : block.fixed) flat->begin_exact_gather();
    }
    for (std::size_t block = 0; block < blocks_.size(); ++block) gather(block);
  }
  held_ = on;
  if (on) return;
  for (const Block& block : blocks_) {
    for (ShardedFlat* flat : block.trained) flat->store();
    for (ShardedFlat* flat : block.fixed) flat->store();
  }
  release_all();
}

void BlockSchedule::begin_gather(std::size_t block) {
  for (ShardedFlat* flat : blocks_[block].trained) flat->begin_gather();
  for (ShardedFlat* flat : blocks_[block].fixed) flat->begin_gather();
}

void BlockSchedule::gather(std::size_t block) {
  begin_gather(block);
  for (ShardedFlat* flat : blocks_[block].trained) flat->finish_gather();
  for (ShardedFlat* flat : blocks_[block].fixed) flat->finish_gather();
}

void BlockSchedule::release(std::size_t block) {
  if (held_) return;
  for (ShardedFlat* flat : blocks_[block].trained) flat->release();
  for (ShardedFlat* flat : blocks_[block].fixed) flat->release();
}

void BlockSchedule::release_all() {
  for (std::size_t block = 0; block < blocks_.size(); ++block) release(block);
}

}  // namespace lockstep
