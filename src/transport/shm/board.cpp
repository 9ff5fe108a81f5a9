#include "transport/shm/board.h"

#include "transport/shm/asymmetric_fence.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <cstring>

namespace lockstep::shm {

// The futex is the progress word's low half: the half that changes with every signal.
static_assert(std::endian::native == std::endian::little, "the low half of the progress word must come first");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "slots are shared between processes");

void RankSlot::leave() {
  auto expected = RankState::kActive;
  state_.compare_exchange_strong(expected, RankState::kLeft, std::memory_order_acq_rel);
  wake();
}

void RankSlot::fail(const Error& error) {
  if (state() == RankState::kFailed) return;
  failure_code_ = error.code();
  failure_peer_ = error.peer();
  std::strncpy(failure_text_.data(), error.what(), failure_text_.size() - 1);
  state_.store(RankState::kFailed, std::memory_order_release);
  wake();
}

Error RankSlot::failure() const { return {failure_code_, failure_text_.data(), {.peer = failure_peer_}}; }

void RankSlot::announce(const Announcement& announcement) {
  announcements_[announcement.sequence % kAnnouncements] = announcement;
  PublishedEntry& entry = entries_[announcement.sequence % 2];
  entry.fingerprint.store(announcement.fingerprint, std::memory_order_release);
  entry.input_offset.store(announcement.input_offset, std::memory_order_release);
  entry.output_offset.store(announcement.output_offset, std::memory_order_release);
}

std::optional<Announcement> RankSlot::announcement(std::uint64_t sequence) const {
  // Announced before signalled: whoever sees this rank in the operation sees what it announced.
  if (progress().sequence < sequence) return std::nullopt;
  const Announcement& entry = announcements_[sequence % kAnnouncements];
  return entry.sequence == sequence ? std::optional(entry) : std::nullopt;
}

std::optional<Entry> RankSlot::entry(std::uint64_t sequence) const {
  const PublishedEntry& published = entries_[sequence % 2];
  const Entry entry{published.fingerprint.load(std::memory_order_acquire),
                    published.input_offset.load(std::memory_order_acquire),
                    published.output_offset.load(std::memory_order_acquire)};
  // A rank that is still in this operation has announced at most the next one.
  return progress().sequence == sequence ? std::optional(entry) : std::nullopt;
}

void RankSlot::signal(Progress progress) {
  progress_.store(pack(progress), std::memory_order_release);
  if (is_awaited()) wake();
}

bool RankSlot::is_awaited() const {
  // What was written is ordered before the look at parked_, as park() orders its increment before its look at what it
  // waits for: one of the two sees the other.
  light_fence();
  return parked_.load(std::memory_order_relaxed) != 0;
}

void RankSlot::wake() {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&progress_), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void RankSlot::park(Progress seen, std::chrono::milliseconds slice, const std::function<bool()>& there) {
  parked_.fetch_add(1, std::memory_order_seq_cst);
  heavy_fence();
  const std::uint64_t packed = pack(seen);
  if (!there() && progress_.load(std::memory_order_seq_cst) == packed) {
    const timespec timeout{slice.count() / 1000, slice.count() % 1000 * 1'000'000};
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&progress_), FUTEX_WAIT, static_cast<std::uint32_t>(packed),
              &timeout, nullptr, 0);
  }
  parked_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace lockstep::shm
