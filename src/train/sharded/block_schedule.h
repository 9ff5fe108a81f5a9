#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "train/sharded/sharded_flat.h"

namespace lockstep {

struct BlockScheduleOptions {
  bool prefetch = true;
  bool reshard_after_forward = true;
};

/// When blocks are whole: around their forward, and from before their backward until all their gradients are there.
/// While one computes, the next one's gather is under way, as far as the order is known from the last time. Every rank
/// runs the same blocks in the same order. A forward inside a backward (activation checkpointing) says nothing of the
/// order of forwards, and what it gathered stays for the gradients that come next.
class BlockSchedule {
 public:
  explicit BlockSchedule(BlockScheduleOptions options) : options_(options) {}

  /// `trained` and `fixed` outlive this. Returns the block's index.
  std::size_t add(std::vector<ShardedFlat*> trained, std::vector<ShardedFlat*> fixed);
  std::size_t size() const { return blocks_.size(); }
  bool is_whole(std::size_t block) const;

  void before_forward(std::size_t block, bool records_graph);
  void after_forward(std::size_t block, bool records_graph);

  void begin_backward();
  /// Its forward runs once more, within the backward.
  void before_recompute(std::size_t block) { gather(block); }
  /// May come several times in one backward; the first gathers.
  void before_backward(std::size_t block);
  void gradient_came(std::size_t block);
  void end_backward();

  /// While on, everything is whole and stays so.
  void hold_whole(bool on);

 private:
  struct Block {
    std::vector<ShardedFlat*> trained;
    std::vector<ShardedFlat*> fixed;
    std::size_t parameters = 0;  ///< trained ones
    std::size_t missing = 0;     ///< their gradients, in this backward
    std::optional<std::size_t> next_forward;
    std::optional<std::size_t> next_backward;
  };

  void begin_gather(std::size_t block);
  void gather(std::size_t block);
  void release(std::size_t block);
  void release_all();

  BlockScheduleOptions options_;
  std::vector<Block> blocks_;
  std::optional<std::size_t> last_forward_;
  std::optional<std::size_t> last_backward_;
  bool held_ = false;
};

}  // namespace lockstep
