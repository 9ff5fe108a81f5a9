#pragma once

#include <lockstep/data_parallel.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "train/bucket.h"

namespace lockstep {

/// How often the gradient of each parameter comes in one backward: once, but for layers that activation checkpointing
/// runs again several times.
using Arrivals = std::vector<std::int64_t>;
/// Of a parameter of which nobody knows yet: its bucket stays until backward is over.
inline constexpr std::int64_t kAnyNumber = std::int64_t{1} << 40;

/// The communication of one synchronised backward: which gradients are there, which buckets are under way, and how long
/// it took. Buckets leave in order, each when all its gradients are there and those before it have left: so all ranks
/// start the same operations in the same order, whatever the order of their gradients.
class BackwardRun {
 public:
  BackwardRun(Group group, const DataParallelOptions& options, std::shared_ptr<const BucketSet> buckets,
              const Arrivals& expected);

  bool has(std::size_t parameter) const { return came_[parameter] > 0; }
  const Arrivals& came() const { return came_; }
  /// The order in which gradients came, each at its last arrival.
  const std::vector<std::size_t>& order() const { return order_; }

  /// A gradient exists, though in no bucket.
  void note() {
    report_.last_gradient_us = now_us();
    report_.exposed_in_backward_ms = report_.exposed_ms;
  }
  /// The gradient of `parameter` exists; it need not be in its slot yet.
  void note(std::size_t parameter);
  /// It is in its slot: starts what is full now and moves what is under way, never waiting. With overlap = false does
  /// nothing.
  void advance(std::size_t parameter);
  /// All slots hold what they should: starts the rest, and after it a maximum over ranks of `used`, and waits for
  /// everything.
  void complete(Buffer used);
  SyncReport report() const;
  /// It is over, and has reported: lets go of the buckets' memory.
  void forget_buckets() {
    flights_.clear();
    buckets_.reset();
  }

 private:
  struct Flight {
    std::shared_ptr<OperationRecord> record;  // not of a hook's
    Pending pending;
    bool done = false;
  };

  void launch_next();
  void land_if_done(std::size_t index);
  void land(std::size_t index);

  Group group_;
  const DataParallelOptions& options_;
  std::shared_ptr<const BucketSet> buckets_;
  Arrivals came_;                   // by parameter
  std::vector<std::size_t> order_;  // parameters
  Arrivals missing_;                // by bucket: gradients that are not there
  std::vector<Flight> flights_;     // by bucket, those that have left
  SyncReport report_;
  std::int64_t first_gradient_us_ = 0;
};

}  // namespace lockstep
