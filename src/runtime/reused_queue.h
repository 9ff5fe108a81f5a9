#pragma once

#include <list>

namespace lockstep {

/// First in, first out. Entries are used again, so that a queue that has once been as long allocates nothing.
template <class Entry>
class ReusedQueue {
 public:
  bool empty() const { return entries_.empty(); }
  Entry& front() { return entries_.front(); }
  const Entry& front() const { return entries_.front(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }

  /// What push() puts at the end, to be filled in before: that may throw, and then nothing has come into the queue.
  /// What the entry held before is still in it.
  Entry& next() {
    if (spare_.empty()) spare_.emplace_front();
    return spare_.front();
  }
  void push() noexcept { entries_.splice(entries_.end(), spare_, spare_.begin()); }
  void pop() noexcept { spare_.splice(spare_.begin(), entries_, entries_.begin()); }

 private:
  std::list<Entry> entries_;
  std::list<Entry> spare_;
};

}  // namespace lockstep
