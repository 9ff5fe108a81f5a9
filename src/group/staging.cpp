#include "group/staging.h"

#include <lockstep/error.h>

#include <algorithm>
#include <cstring>

namespace lockstep {

RegisteredMemory StagingPool::take(std::size_t bytes) {
  // The smallest that is large enough.
  auto best = free_.end();
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    if (piece->bytes() >= bytes && (best == free_.end() || piece->bytes() < best->bytes())) best = piece;
  }
  if (best == free_.end()) return transport_.allocate(bytes);
  RegisteredMemory piece = std::move(*best);
  free_.erase(best);
  return piece;
}

StagedBuffer::StagedBuffer(StagingPool& pool, Transport& transport, Collective collective, Buffer buffer)
    : pool_(&pool), transport_(&transport), collective_(collective), buffer_(buffer) {
  if (buffer.bytes() == 0) return;
  if (const auto offset = transport.offset_of(buffer.data, buffer.bytes())) {
    offset_ = *offset;
    return;
  }
  staging_ = pool.take(buffer.bytes());
  offset_ = transport.offset_of(staging_.data(), buffer.bytes()).value();
  const auto [begin, bytes] =
      collective == Collective::kAllGather ? own_block() : std::pair<std::size_t, std::size_t>{0, buffer.bytes()};
  std::memcpy(static_cast<std::byte*>(staging_.data()) + begin, static_cast<const std::byte*>(buffer.data) + begin,
              bytes);
}

std::pair<std::size_t, std::size_t> StagedBuffer::own_block() const {
  const std::size_t block = buffer_.bytes() / static_cast<std::size_t>(transport_->size());
  return {block * static_cast<std::size_t>(transport_->rank()), block};
}

void StagedBuffer::bring_home() {
  if (staging_.data() == nullptr) return;
  const auto [begin, bytes] =
      collective_ == Collective::kReduceScatter ? own_block() : std::pair<std::size_t, std::size_t>{0, buffer_.bytes()};
  std::memcpy(static_cast<std::byte*>(buffer_.data) + begin, static_cast<const std::byte*>(staging_.data()) + begin,
              bytes);
  pool_->give_back(std::move(staging_));
}

}  // namespace lockstep
