#include "transport/mpi/streams.h"

#include "topology/cpu_quota.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace lockstep::mpi {

namespace {

using std::chrono::steady_clock;

/// For a peer that waits to say so.
constexpr std::chrono::milliseconds kAnswer{250};
/// MPI has no wait with an end: between looks a rank sleeps so long, after so many looks without.
constexpr std::chrono::microseconds kSleep{50};
constexpr int kLooks = 200;

std::byte* bytes_of(const iovec& span) { return static_cast<std::byte*>(span.iov_base); }

/// Bytes from `offset` on, as many as there is room for.
std::size_t gather(std::span<const iovec> spans, std::size_t offset, std::span<std::byte> room) {
  std::size_t filled = 0;
  for (const iovec& span : spans) {
    const std::size_t skipped = std::min(offset, span.iov_len);
    offset -= skipped;
    const std::size_t bytes = std::min(span.iov_len - skipped, room.size() - filled);
    if (bytes > 0) std::memcpy(room.data() + filled, bytes_of(span) + skipped, bytes);
    filled += bytes;
  }
  return filled;
}

/// Into the spans from `offset` on, as many bytes as there is room for.
std::size_t scatter(std::span<const std::byte> data, std::span<const iovec> spans, std::size_t offset) {
  std::size_t taken = 0;
  for (const iovec& span : spans) {
    const std::size_t skipped = std::min(offset, span.iov_len);
    offset -= skipped;
    const std::size_t bytes = std::min(span.iov_len - skipped, data.size() - taken);
    if (bytes > 0) std::memcpy(bytes_of(span) + skipped, data.data() + taken, bytes);
    taken += bytes;
  }
  return taken;
}

}  // namespace

Lane::~Lane() {
  for (Chunk& chunk : in_.chunks) {
    if (chunk.under_way) process_.give_up_receive(chunk.request, std::move(chunk.data));
  }
  for (Chunk& chunk : out_.chunks) give_up_send(chunk);  // incomplete only where this group has failed
  for (Chunk& chunk : buffered_) give_up_send(chunk);    // which the peer may still receive
}

void Lane::give_up_send(Chunk& chunk) {
  if (chunk.under_way) process_.give_up_send(chunk.request, std::move(chunk.data));
}

bool Lane::is_complete(Chunk& chunk) const {
  if (!chunk.under_way) return false;
  const auto came = process_.test(chunk.request);
  if (!came) return false;
  chunk.under_way = false;
  if (chunk.bytes == 0) chunk.bytes = came->bytes;  // a chunk that is sent knows its size
  return true;
}

std::size_t Lane::send(std::span<const iovec> spans) {
  retire();
  // The caller may offer less than it did before, as an announcement without what it announces.
  std::size_t offered = 0;
  for (const iovec& span : spans) offered += span.iov_len;
  std::size_t told = std::min(gone_, offered);
  gone_ -= told;
  if (told == 0 && fits(offered)) {
    buffer(spans, offered);
    told = offered;
  } else if (told == 0) {
    send_more(spans);
  }
  sent_ += told;
  return told;
}

void Lane::retire() {
  while (!buffered_.empty() && is_complete(buffered_.front())) {
    buffered_bytes_ -= buffered_.front().frees;
    buffered_.pop_front();
  }
  for (std::size_t i = 0; i < out_.chunks.size(); ++i) {
    Chunk& oldest = out_.front();
    if (oldest.bytes == 0 || !is_complete(oldest)) return;
    gone_ += std::exchange(oldest.bytes, 0);
    out_.first ^= 1U;
  }
}

/// Nothing passes what is under way.
bool Lane::fits(std::size_t bytes) const {
  return out_.chunks[out_.first].bytes == 0 && bytes <= buffer_bytes_ - buffered_bytes_;
}

/// MPI has all of it at once, and moves it in any call: what waited in a queue of ours would need one of these streams.
/// The receiver has begun to take all once it takes the last chunk.
void Lane::buffer(std::span<const iovec> spans, std::size_t bytes) {
  buffered_bytes_ += bytes;
  for (std::size_t offset = 0; offset < bytes;) {
    Chunk& chunk = buffered_.emplace_back();
    chunk.bytes = std::min(bytes - offset, kBufferedChunkBytes);
    chunk.data = std::make_unique_for_overwrite<std::byte[]>(chunk.bytes);
    offset += gather(spans, offset, {chunk.data.get(), chunk.bytes});
    const bool is_last = offset == bytes;
    if (is_last) chunk.frees = bytes;
    post(chunk, is_last);
  }
}

/// What follows what is under way.
void Lane::send_more(std::span<const iovec> spans) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    Chunk& chunk = out_.chunks[out_.first ^ i];
    if (chunk.bytes > 0) {
      offset += chunk.bytes;
      continue;
    }
    if (!chunk.data) chunk.data = std::make_unique_for_overwrite<std::byte[]>(kChunkBytes);
    chunk.bytes = gather(spans, offset, {chunk.data.get(), kChunkBytes});
    if (chunk.bytes == 0) return;
    post(chunk, true);
    offset += chunk.bytes;
  }
}

void Lane::post(Chunk& chunk, bool synchronous) {
  process_.send(chunk.request, {chunk.data.get(), chunk.bytes}, world_rank_, tag_, synchronous);
  chunk.under_way = true;
}

void Lane::expect_more() {
  for (std::size_t i = 0; i < 2; ++i) {
    Chunk& chunk = in_.chunks[in_.first ^ i];
    if (chunk.under_way || chunk.bytes > 0) continue;
    if (!chunk.data) chunk.data = std::make_unique_for_overwrite<std::byte[]>(kChunkBytes);
    process_.receive(chunk.request, {chunk.data.get(), kChunkBytes}, world_rank_, tag_);
    chunk.under_way = true;
  }
}

bool Lane::has_room() {
  retire();
  return gone_ > 0 || out_.front().bytes == 0;
}

bool Lane::has_bytes() {
  expect_more();
  Chunk& oldest = in_.front();
  return (!oldest.under_way && oldest.bytes > 0) || is_complete(oldest);
}

std::size_t Lane::receive(std::span<const iovec> spans) {
  std::size_t taken = 0;
  while (has_bytes()) {
    Chunk& oldest = in_.front();
    const std::size_t now = scatter({oldest.data.get() + in_.taken, oldest.bytes - in_.taken}, spans, taken);
    if (now == 0) break;
    taken += now;
    in_.taken += now;
    if (in_.taken < oldest.bytes) break;
    oldest.bytes = 0;
    in_.taken = 0;
    in_.first ^= 1U;
  }
  received_ += taken;
  return taken;
}

Peers::Peers(const Process& process, int rank, const std::vector<int>& world_ranks, int tag) : rank_(rank) {
  for (int peer = 0; peer < static_cast<int>(world_ranks.size()); ++peer) {
    controls_.push_back(
        peer == rank ? nullptr
                     : std::make_unique<Control>(process, peer, world_ranks[static_cast<std::size_t>(peer)], tag));
  }
}

bool Peers::check() {
  bool has_told = false;
  for (const auto& control : controls_) {
    if (control) has_told |= control->listen();
  }
  for (const auto& control : controls_) {
    if (control && control->state() == Control::State::kFailed) throw control->failure();
  }
  return has_told;
}

void Peers::throw_if_left(int peer, std::size_t stream, std::uint64_t received) const {
  const Control& control = *controls_[static_cast<std::size_t>(peer)];
  if (control.state() != Control::State::kLeft || received < control.sent()[stream]) return;
  throw Error(ErrorCode::kPeerLeft,
              fmt::format("rank {} has left the group; do all ranks run the same number of operations?", peer),
              {.rank = rank_, .peer = peer});
}

std::vector<int> Peers::idle() const {
  std::vector<int> peers;
  for (int peer = 0; peer < size(); ++peer) {
    const auto& control = controls_[static_cast<std::size_t>(peer)];
    if (control && control->state() == Control::State::kActive && !control->says_it_waits()) peers.push_back(peer);
  }
  return peers;
}

std::vector<int> Peers::ask_who_is_idle() {
  for (const auto& control : controls_) {
    if (control) control->ask();
  }
  const auto end = steady_clock::now() + kAnswer;
  while (steady_clock::now() < end && !idle().empty()) {
    check();
    std::this_thread::sleep_for(kSleep);
  }
  return idle();
}

Streams::Streams(const Process& process, Peers& peers, const std::vector<int>& world_ranks, const Kind& kind)
    : peers_(peers), number_(kind.number), patience_(peers.size() <= job_cpus() ? 200 : 4) {
  lanes_.reserve(world_ranks.size());
  for (const int world_rank : world_ranks) lanes_.emplace_back(process, world_rank, kind.tag, kind.buffer_bytes);
}

std::size_t Streams::send(int peer, std::span<const iovec> spans) {
  const std::size_t gone = lane(peer).send(spans);
  if (gone == 0) peers_.throw_if_left(peer, number_, UINT64_MAX);
  return gone;
}

std::size_t Streams::receive(int peer, std::span<const iovec> spans) {
  const std::size_t came = lane(peer).receive(spans);
  if (came == 0) peers_.throw_if_left(peer, number_, lane(peer).bytes_received());
  return came;
}

bool Streams::is_met(const Need& need) {
  return (need.room && lane(need.peer).has_room()) || (need.bytes && lane(need.peer).has_bytes());
}

bool Streams::wait(std::span<const Need> needs, steady_clock::time_point deadline) {
  for (int looks = 0;; ++looks) {
    if (std::any_of(needs.begin(), needs.end(), [this](const Need& need) { return is_met(need); })) return true;
    if (peers_.check()) return true;
    // What a peer gave before its last word may have come with it.
    if (std::any_of(needs.begin(), needs.end(), [this](const Need& need) { return is_met(need); })) return true;
    for (const Need& need : needs) {
      if (need.bytes) peers_.throw_if_left(need.peer, number_, lane(need.peer).bytes_received());
      if (need.room) peers_.throw_if_left(need.peer, number_, UINT64_MAX);
    }
    if (steady_clock::now() >= deadline) return false;
    if (looks < kLooks) {
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

std::uint64_t Streams::bytes_sent() const {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.bytes_sent();
  return sum;
}

}  // namespace lockstep::mpi
