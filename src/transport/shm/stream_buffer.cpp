#include "transport/shm/stream_buffer.h"

#include <algorithm>
#include <cstring>

namespace lockstep::shm {

namespace {

/// The other side is let in after so many, so that both copy at the same time.
constexpr std::size_t kPieceBytes = StreamBuffer::kBytes / 4;

/// Calls `move(bytes of a span, place in the buffer, how many)` for each piece that is whole on both sides; how many
/// bytes that made.
template <class Move>
std::size_t walk(std::span<const iovec> spans, std::uint64_t from, std::size_t limit, const Move& move) {
  limit = std::min(limit, kPieceBytes);
  std::size_t done = 0;
  for (const iovec& span : spans) {
    for (std::size_t in_span = 0; in_span < span.iov_len && done < limit;) {
      const std::size_t place = (from + done) % StreamBuffer::kBytes;
      const std::size_t bytes = std::min({span.iov_len - in_span, limit - done, StreamBuffer::kBytes - place});
      move(static_cast<std::byte*>(span.iov_base) + in_span, place, bytes);
      in_span += bytes;
      done += bytes;
    }
  }
  return done;
}

}  // namespace

std::size_t StreamBuffer::write(std::span<const iovec> spans) {
  const std::uint64_t from = written_.load(std::memory_order_relaxed);
  const std::size_t bytes =
      walk(spans, from, free_bytes(),
           [&](const std::byte* span, std::size_t place, std::size_t n) { std::memcpy(data_ + place, span, n); });
  if (bytes > 0) written_.store(from + bytes, std::memory_order_release);
  return bytes;
}

std::size_t StreamBuffer::read(std::span<const iovec> spans) {
  const std::uint64_t from = read_.load(std::memory_order_relaxed);
  const std::size_t bytes = walk(spans, from, filled_bytes(), [&](std::byte* span, std::size_t place, std::size_t n) {
    std::memcpy(span, data_ + place, n);
  });
  if (bytes > 0) read_.store(from + bytes, std::memory_order_release);
  return bytes;
}

std::size_t StreamBuffer::filled_bytes() const {
  return static_cast<std::size_t>(written_.load(std::memory_order_acquire) - read_.load(std::memory_order_acquire));
}

}  // namespace lockstep::shm
