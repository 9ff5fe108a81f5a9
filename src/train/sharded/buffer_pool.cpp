#include "train/sharded/buffer_pool.h"

#include <algorithm>

namespace lockstep {

RegisteredMemory BufferPool::take(std::size_t bytes) {
  const auto fits = [bytes](const RegisteredMemory& memory) { return memory.bytes() >= bytes; };
  const auto smaller = [&](const RegisteredMemory& a, const RegisteredMemory& b) {
    return fits(a) != fits(b) ? fits(a) : a.bytes() < b.bytes();
  };
  const auto best = std::min_element(idle_.begin(), idle_.end(), smaller);
  if (best == idle_.end() || !fits(*best)) {
    // Those too small for what comes now are let go: one large buffer serves later, small needs too.
    if (best != idle_.end()) {
      bytes_ -= best->bytes();
      idle_.erase(best);
    }
    bytes_ += bytes;
    return group_.allocate(bytes);
  }
  RegisteredMemory memory = std::move(*best);
  idle_.erase(best);
  return memory;
}

void BufferPool::trim(std::size_t bytes) {
  const auto smaller = [](const RegisteredMemory& a, const RegisteredMemory& b) { return a.bytes() < b.bytes(); };
  while (!idle_.empty()) {
    const auto smallest = std::min_element(idle_.begin(), idle_.end(), smaller);
    if (bytes_ - smallest->bytes() < bytes) return;
    bytes_ -= smallest->bytes();
    idle_.erase(smallest);
  }
}

}  // namespace lockstep
