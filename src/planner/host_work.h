#pragma once

#include "schedule/schedule.h"

namespace lockstep {

/// What a schedule makes the cores of one host do, by the plans that run it (runtime/plan.h): operations follow each
/// other without a pause, ranks are dealt to cores in turn. Nothing here depends on the size of the buffers, and
/// nothing is known of the algorithm but its schedule.
struct HostWork {
  /// How often the busiest core goes on to its next rank in one operation, where each runs until it must wait for
  /// another. With a core for every rank these are the rounds in which all wait for what others did in the round
  /// before.
  double turns = 0;
  double moves = 0;            ///< passes over a chunk, of the core that is busiest, step by step
  double chunks_accessed = 0;  ///< read or written by the same core
  double chunks_held = 0;      ///< the same where what is read and written at once counts once: it is in the cache then
  double chunks_fetched = 0;   ///< of those, read after another core wrote them: they come from that core's cache
  bool is_one_exchange = false;  ///< so that small buffers go as letters (runtime/letter_operation.h)
  bool is_staged = false;        ///< what ranks read of each other is copied first, so that the data lies there twice
};

/// Of buffers that are registered. `cores` is 1 or more.
HostWork work_of(const Schedule& schedule, int cores);

}  // namespace lockstep
