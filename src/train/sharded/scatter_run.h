#pragma once

#include <lockstep/data_parallel.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "train/sharded/buffer_pool.h"
#include "train/sharded/piece_gradients.h"
#include "train/sharded/sequence.h"
#include "train/sharded/shard_groups.h"

namespace lockstep {

struct ScatterOptions {
  std::string algorithm = "auto";
  bool overlap = true;
  /// In which flats leave, by index; all ranks have the same. Empty: each when it is full, which ranks that run the
  /// same blocks in the same order agree on without being told.
  std::vector<std::size_t> order;
};

/// The communication of one synchronised backward of sharded gradients: a flat whose gradients are all there is
/// reduce-scattered, its piece reduced between the copies if there are several, this rank's piece of the mean is added
/// to its PieceGradients, and the buffer is free for the next.
class ScatterRun {
 public:
  ScatterRun(ShardGroups groups, std::shared_ptr<BufferPool> pool, ScatterOptions options,
             std::vector<std::shared_ptr<PieceGradients>> flats);
  ~ScatterRun();
  ScatterRun(const ScatterRun&) = delete;
  ScatterRun& operator=(const ScatterRun&) = delete;

  /// All flats, as they got full, then the others.
  std::vector<std::size_t> order() const;

  /// This rank's whole gradient of that parameter, which is copied.
  void take(std::size_t flat, std::size_t parameter, const torch::Tensor& gradient);
  /// Starts what is full and moves what is under way, never waiting. With overlap = false does nothing.
  void advance();
  /// Starts the rest, zero where this rank has no gradient, and waits for everything.
  void complete();
  SyncReport report() const;
  /// Of the reductions that were started.
  const Sequence& sequence() const { return sequence_; }

 private:
  struct Load {
    RegisteredMemory buffer;
    std::vector<bool> has;
    std::size_t missing = 0;
    bool left = false;
    bool between = false;  ///< scattered, and on its way between the copies
    std::size_t timing = 0;
    std::shared_ptr<OperationRecord> record;
    Pending pending;
  };

  torch::Tensor slot(std::size_t flat, std::size_t parameter) const;
  void prepare(std::size_t flat);
  void launch(std::size_t flat);
  void launch_full();
  /// The time of what `load` does next, which its record is for.
  BucketTiming& begin_timing(std::size_t flat, Collective collective);
  void begin_between(std::size_t flat);
  void land_oldest();

  ShardGroups groups_;
  std::shared_ptr<BufferPool> pool_;
  ScatterOptions options_;
  std::vector<std::shared_ptr<PieceGradients>> flats_;
  std::vector<Load> loads_;            // by flat
  std::vector<std::size_t> full_;      // as they got so
  std::size_t launched_ = 0;           // of `full_` or, if there is one, of the order
  std::deque<std::size_t> in_flight_;  // oldest first
  Sequence sequence_;
  SyncReport report_;
  std::int64_t first_gradient_us_ = 0;
};

}  // namespace lockstep
