#include "transport/shm/streams.h"

#include "transport/shm/pages.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <functional>

namespace lockstep::shm {

void Streams::make_present(int peer) {
  auto* const pages = reinterpret_cast<std::byte*>(&buffer(peers_.rank(), peer));
  if (!populate(pages, sizeof(StreamBuffer))) {
    throw Error(
        ErrorCode::kOutOfMemory,
        fmt::format("Rank {}: messages to rank {} need {} bytes of shared memory, more than this machine has left.",
                    peers_.rank(), peer, sizeof(StreamBuffer)),
        {.rank = peers_.rank(), .peer = peer});
  }
  are_present_[static_cast<std::size_t>(peer)] = true;
}

std::size_t Streams::send(int peer, std::span<const iovec> spans) {
  if (!are_present_[static_cast<std::size_t>(peer)]) make_present(peer);
  const std::size_t bytes = buffer(peers_.rank(), peer).write(spans);
  if (bytes > 0) peers_.slot(peer).rouse();
  return bytes;
}

std::size_t Streams::receive(int peer, std::span<const iovec> spans) {
  const std::size_t bytes = buffer(peer, peers_.rank()).read(spans);
  if (bytes > 0) peers_.slot(peer).rouse();
  return bytes;
}

bool Streams::wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) {
  const auto met = [&] {
    return std::any_of(needs.begin(), needs.end(), [this](const Need& need) { return is_met(need); });
  };
  const bool only_looks = std::chrono::steady_clock::now() >= deadline;
  if (!only_looks && patience_.look_for(met)) return true;
  while (true) {
    throw_if_hopeless(needs);
    if (met()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    // By reference: nothing is allocated.
    peers_.own_slot().sleep_until_roused(Peers::slice_before(deadline), std::cref(met));
    if (met()) return true;
  }
}

bool Streams::is_met(const Need& need) const {
  return (need.room && buffer(peers_.rank(), need.peer).has_room()) ||
         (need.bytes && buffer(need.peer, peers_.rank()).has_bytes());
}

/// What a peer gave before it left, or died, counts.
void Streams::throw_if_hopeless(std::span<const Need> needs) const {
  auto trouble = peers_.trouble();
  for (const Need& need : needs) {
    if (!trouble) trouble = peers_.absence_of(need.peer);
  }
  const bool met = std::any_of(needs.begin(), needs.end(), [this](const Need& need) { return is_met(need); });
  if (trouble && !met) throw *trouble;
}

}  // namespace lockstep::shm
