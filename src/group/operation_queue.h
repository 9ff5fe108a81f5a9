#pragma once

#include "group/prepared_operations.h"
#include "group/task.h"
#include "runtime/reused_queue.h"

#include <lockstep/group.h>

#include <cstdint>
#include <memory>

namespace lockstep::detail {

struct QueuedOperation {
  PreparedOperation* operation = nullptr;  ///< of the call's shape; it runs one call at a time
  Call call;
  OwnBlock own_block;  ///< copied when it begins; of no bytes but in an all_to_all
  std::uint64_t sequence = 0;
  bool begun = false;
  std::shared_ptr<OperationRecord> record;  ///< if somebody wants one
};

/// The operations of a group that are not complete, in the order they were asked for, which is the order in which they
/// run.
using OperationQueue = ReusedQueue<QueuedOperation>;

}  // namespace lockstep::detail
