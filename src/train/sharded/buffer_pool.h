#pragma once

#include <lockstep/group.h>

#include <cstddef>
#include <vector>

namespace lockstep {

/// Registered memory that goes from one use to the next: mapping it anew for every gather would cost more than the
/// gather. Keeps what it made, so it holds as much as was in use at once; after a burst, trim() lets go of the rest.
class BufferPool {
 public:
  explicit BufferPool(Group group) : group_(std::move(group)) {}

  /// Memory of at least `bytes`, with whatever is in it. Throws Error (kOutOfMemory).
  RegisteredMemory take(std::size_t bytes);
  void give_back(RegisteredMemory memory) { idle_.push_back(std::move(memory)); }

  /// Returns idle memory to the system, the smallest first, for as long as at least `bytes` are left. Local.
  void trim(std::size_t bytes);

  /// What it has, idle or in use.
  std::size_t bytes() const { return bytes_; }

 private:
  Group group_;
  std::vector<RegisteredMemory> idle_;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep
