#include "transport/shm/board.h"

#include "transport/control_words.h"
#include "transport/shm/asymmetric_fence.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <cstring>

namespace lockstep::shm {

// The futex is the progress word's low half: the half that changes with every signal.
static_assert(std::endian::native == std::endian::little, "the low half of the progress word must come first");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "slots are shared between processes");

namespace {

void wake_all(std::uint32_t* word) { ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

void sleep_while(std::uint32_t* word, std::uint32_t value, std::chrono::microseconds slice) {
  const timespec timeout{slice.count() / 1'000'000, slice.count() % 1'000'000 * 1000};
  ::syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

/// Looks for what the other side stores until that has seen what was stored before this call (asymmetric_fence.h), and
/// once more.
template <class There>
bool comes_while_settling(const There& there) {
  const auto settles = std::chrono::steady_clock::now() + kSettling;
  while (true) {
    const bool has_settled = std::chrono::steady_clock::now() >= settles;  // before the look: it may be long until then
    if (there()) return true;
    if (has_settled) return false;
    ::sched_yield();
  }
}

}  // namespace

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

Error RankSlot::failure_of(int rank) const {
  return failure_told_by(rank, static_cast<std::uint32_t>(failure_code_), failure_peer_, failure_text_);
}

void RankSlot::announce(const Announcement& announcement) {
  Fingerprint& fingerprint = fingerprints_[announcement.sequence % kAnnouncementsKept];
  fingerprint.sequence.store(0, std::memory_order_relaxed);
  fingerprint.value.store(announcement.fingerprint, std::memory_order_release);
  Words words{};
  std::memcpy(words.data(), &announcement, sizeof announcement);
  auto& published = announcements_[announcement.sequence % kAnnouncementsKept];
  for (std::size_t i = 0; i < words.size(); ++i) published[i].store(words[i], std::memory_order_release);
  fingerprint.sequence.store(announcement.sequence, std::memory_order_release);
  PublishedEntry& entry = entries_[announcement.sequence % 2];
  entry.fingerprint.store(announcement.fingerprint, std::memory_order_release);
  entry.input_offset.store(announcement.input_offset, std::memory_order_release);
  entry.output_offset.store(announcement.output_offset, std::memory_order_release);
}

std::optional<Announcement> RankSlot::announcement(std::uint64_t sequence) const {
  // Announced before signalled: whoever sees this rank in the operation sees what it announced.
  if (progress().sequence < sequence) return std::nullopt;
  const std::atomic<std::uint64_t>& published = fingerprints_[sequence % kAnnouncementsKept].sequence;
  if (published.load(std::memory_order_acquire) != sequence) return std::nullopt;
  Words words{};
  const auto& entry = announcements_[sequence % kAnnouncementsKept];
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = entry[i].load(std::memory_order_acquire);
  // Its owner may be some operations further meanwhile, and write the next one there.
  if (published.load(std::memory_order_acquire) != sequence) return std::nullopt;
  Announcement announcement;
  std::memcpy(static_cast<void*>(&announcement), words.data(), sizeof announcement);
  return announcement;
}

std::optional<Entry> RankSlot::entry(std::uint64_t sequence) const {
  const PublishedEntry& published = entries_[sequence % 2];
  const Entry entry{published.fingerprint.load(std::memory_order_acquire),
                    published.input_offset.load(std::memory_order_acquire),
                    published.output_offset.load(std::memory_order_acquire)};
  // A rank that is still in this operation has announced at most the next one.
  return progress().sequence == sequence ? std::optional(entry) : std::nullopt;
}

std::optional<std::uint64_t> RankSlot::fingerprint(std::uint64_t sequence) const {
  const Fingerprint& published = fingerprints_[sequence % kAnnouncementsKept];
  if (published.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
  const std::uint64_t value = published.value.load(std::memory_order_acquire);
  return published.sequence.load(std::memory_order_acquire) == sequence ? std::optional(value) : std::nullopt;
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

void RankSlot::wake() { wake_all(reinterpret_cast<std::uint32_t*>(&progress_)); }

void RankSlot::park(Progress seen, std::chrono::microseconds slice, const std::function<bool()>& there) {
  parked_.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t packed = pack(seen);
  const auto is_over = [&] { return there() || progress_.load(std::memory_order_seq_cst) != packed; };
  if (!comes_while_settling(is_over)) {
    sleep_while(reinterpret_cast<std::uint32_t*>(&progress_), static_cast<std::uint32_t>(packed), slice);
  }
  parked_.fetch_sub(1, std::memory_order_relaxed);
}

void RankSlot::sleep_until_roused(std::chrono::microseconds slice, const std::function<bool()>& there) {
  const std::uint32_t seen = times_roused_.load(std::memory_order_acquire);
  sleeps_.store(1, std::memory_order_seq_cst);
  if (!comes_while_settling(there)) sleep_while(reinterpret_cast<std::uint32_t*>(&times_roused_), seen, slice);
  sleeps_.store(0, std::memory_order_relaxed);
}

void RankSlot::rouse() {
  light_fence();  // as in is_awaited()
  if (sleeps_.load(std::memory_order_relaxed) == 0) return;
  times_roused_.fetch_add(1, std::memory_order_release);
  wake_all(reinterpret_cast<std::uint32_t*>(&times_roused_));
}

}  // namespace lockstep::shm
