#pragma once

#include "runtime/running_operation.h"

#include <list>

namespace lockstep::detail {

/// The operations of a group that are not complete, in the order they were asked for, which is the order in which they
/// run. Entries are used again, so that a queue that has once been as long allocates nothing.
class OperationQueue {
 public:
  struct Entry {
    RunningOperation* operation = nullptr;  ///< of the call's shape; it runs one call at a time
    Call call;
    std::uint64_t sequence = 0;
    bool begun = false;
  };

  bool empty() const { return entries_.empty(); }
  Entry& front() { return entries_.front(); }

  /// An entry at the end, to be filled in; what it held before is still in it.
  Entry& push() {
    if (spare_.empty()) spare_.emplace_front();
    entries_.splice(entries_.end(), spare_, spare_.begin());
    return entries_.back();
  }
  void pop() { spare_.splice(spare_.begin(), entries_, entries_.begin()); }

 private:
  std::list<Entry> entries_;
  std::list<Entry> spare_;
};

}  // namespace lockstep::detail
