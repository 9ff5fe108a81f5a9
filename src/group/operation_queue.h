#pragma once

#include "runtime/reused_queue.h"
#include "runtime/running_operation.h"

#include <cstdint>

namespace lockstep::detail {

struct QueuedOperation {
  RunningOperation* operation = nullptr;  ///< of the call's shape; it runs one call at a time
  Call call;
  std::uint64_t sequence = 0;
  bool begun = false;
};

/// The operations of a group that are not complete, in the order they were asked for, which is the order in which they
/// run.
using OperationQueue = ReusedQueue<QueuedOperation>;

}  // namespace lockstep::detail
