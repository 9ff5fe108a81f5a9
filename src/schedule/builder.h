#pragma once

#include "schedule/schedule.h"

#include <optional>

namespace lockstep {

/// Writes a Schedule, each transfer once. Asked for one rank's view it keeps only the transfers that touch that rank,
/// so that a rank among thousands holds just its own; the steps keep their numbers.
///
///   ScheduleBuilder s({.name = "ring", .collective = Collective::kAllReduce, .ranks = n, .chunks = n});
///   s.reduce(chunk, {.from = a, .to = b});
///   s.end_step();
///   return s.take();
class ScheduleBuilder {
 public:
  struct Shape {
    std::string name;
    Collective collective = Collective::kAllReduce;
    int ranks = 1;
    int chunks = 1;
    int root = 0;
    std::optional<int> only_rank = std::nullopt;  ///< keep this rank's transfers only
  };
  struct Link {
    int from;
    int to;
  };

  explicit ScheduleBuilder(Shape shape);

  void copy(int chunk, Link link) { add(TransferKind::kCopy, chunk, link); }
  void reduce(int chunk, Link link) { add(TransferKind::kReduce, chunk, link); }
  /// Closes the step. A step in which nothing moves (at all, not only in the view) is dropped.
  void end_step();
  /// The finished schedule; an open step is closed.
  Schedule take();

 private:
  void add(TransferKind kind, int chunk, Link link);

  Schedule schedule_;
  std::optional<int> only_rank_;
  Step open_;
  bool open_has_transfers_ = false;
};

}  // namespace lockstep
