#include "transport/shm/letterbox.h"

#include <cstring>

namespace lockstep::shm {

void Letterbox::write(std::uint64_t number, std::uint64_t stamp, const std::byte* data, std::size_t bytes) {
  Line* line = letters_[number % 2].data();
  while (bytes > kLinePayload) {
    std::memcpy(line->payload.data(), data, kLinePayload);
    line->stamp.store(stamp, std::memory_order_release);
    data += kLinePayload;
    bytes -= kLinePayload;
    ++line;
  }
  if (bytes > 0) std::memcpy(line->payload.data(), data, bytes);
  line->stamp.store(stamp, std::memory_order_release);
}

bool Letterbox::read(std::uint64_t number, std::uint64_t stamp, std::byte* to, std::size_t bytes) const {
  const Line* const first = letters_[number % 2].data();
  const Line* const end = first + lines_of(bytes);
  for (const Line* line = first; line < end; ++line) {
    if (line->stamp.load(std::memory_order_acquire) != stamp) return false;
    std::memcpy(to + static_cast<std::size_t>(line - first) * kLinePayload, line->payload.data(), kLinePayload);
  }
  return true;
}

}  // namespace lockstep::shm
