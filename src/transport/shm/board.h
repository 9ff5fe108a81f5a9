#pragma once

#include "transport/shm/letterbox.h"
#include "transport/transport.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>

namespace lockstep::shm {

enum class RankState : std::uint32_t { kAbsent, kActive, kLeft, kFailed };

/// What one rank tells the others: written by that rank alone, read by all. Lives in zero-filled memory that all ranks
/// map.
class RankSlot {
 public:
  void enter() { state_.store(RankState::kActive, std::memory_order_release); }
  /// Leaving and failing wake whoever waits for this rank. A rank that failed stays failed: its text explains more.
  void leave();
  void fail(const Error& error);
  RankState state() const { return state_.load(std::memory_order_acquire); }
  /// A peer has failed: it tells each of the others, so that these need not look at all of them.
  void hear_of_failure() { hears_of_failure_.store(true, std::memory_order_release); }
  bool hears_of_failure() const { return hears_of_failure_.load(std::memory_order_acquire); }
  /// What this rank, which is that one, failed of. Only in state kFailed.
  Error failure_of(int rank) const;

  void announce(const Announcement& announcement);
  std::optional<Announcement> announcement(std::uint64_t sequence) const;
  std::optional<Entry> entry(std::uint64_t sequence) const;
  std::optional<std::uint64_t> fingerprint(std::uint64_t sequence) const;

  void signal(Progress progress);
  Progress progress() const { return unpack(progress_.load(std::memory_order_acquire)); }
  /// Sleeps until the progress may no longer be `seen`, or `slice` has passed; not at all if what is waited for is
  /// `there`, which is asked again and again until this rank must have seen that somebody is about to sleep.
  void park(Progress seen, std::chrono::microseconds slice, const std::function<bool()>& there);
  /// Whether somebody sleeps, or is about to without having seen what this rank wrote before.
  bool is_awaited() const;

  Letterbox& letters() { return letters_; }

  /// For streams: this rank sleeps until a peer rouses it, or `slice` has passed; not at all if what it waits for is
  /// `there`, asked as in park().
  void sleep_until_roused(std::chrono::microseconds slice, const std::function<bool()>& there);
  /// A peer has given it something, or taken something from it.
  void rouse();

 private:
  static constexpr unsigned kStepBits = 24;

  static_assert(Progress::kMostSteps < std::uint64_t{1} << kStepBits);
  static std::uint64_t pack(Progress progress) { return progress.sequence << kStepBits | progress.steps; }
  static Progress unpack(std::uint64_t packed) {
    return {packed >> kStepBits, static_cast<std::uint32_t>(packed & ((1U << kStepBits) - 1))};
  }
  void wake();

  alignas(64) std::atomic<std::uint64_t> progress_{0};
  std::atomic<std::uint32_t> parked_{0};  ///< how many wait in park()
  /// What peers need of an operation lies in the line that they wait on; under sequence % 2, so that announcing the
  /// next one leaves the present one readable.
  struct PublishedEntry {
    std::atomic<std::uint64_t> fingerprint{0};
    std::atomic<std::uint64_t> input_offset{0};
    std::atomic<std::uint64_t> output_offset{0};
  };
  std::array<PublishedEntry, 2> entries_;
  Letterbox letters_;
  alignas(64) std::atomic<std::uint32_t> times_roused_{0};
  std::atomic<std::uint32_t> sleeps_{0};  ///< 1 in sleep_until_roused()
  alignas(64) std::atomic<RankState> state_{RankState::kAbsent};
  std::atomic<bool> hears_of_failure_{false};
  ErrorCode failure_code_{};
  std::int32_t failure_peer_ = 0;
  std::array<char, 1000> failure_text_{};
  /// Both under sequence % kAnnouncementsKept, for peers that come to an operation that this rank has left already. The
  /// number is 0 while its fingerprint and its announcement are written.
  struct Fingerprint {
    std::atomic<std::uint64_t> sequence{0};
    std::atomic<std::uint64_t> value{0};
  };
  alignas(64) std::array<Fingerprint, kAnnouncementsKept> fingerprints_;
  /// An announcement's bytes, which may be written while a peer reads them.
  using Words = std::array<std::uint64_t, (sizeof(Announcement) + 7) / 8>;
  std::array<std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>>, kAnnouncementsKept> announcements_{};
};

}  // namespace lockstep::shm
