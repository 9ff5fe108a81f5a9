#include "transport/shm/shm_transport.h"

#include "topology/cpu_quota.h"
#include "transport/shm/join.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sched.h>

#include <algorithm>
#include <functional>

namespace lockstep::shm {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How often a sleeper looks whether its peers are alive.
constexpr milliseconds kLookAround{20};

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

/// How long to stay awake before sleeping. Where every rank has a core to itself an answer comes within microseconds,
/// and spinning for it is cheapest; where ranks share cores, a spinning rank keeps the one it waits for from running.
struct Patience {
  int spins;
  int yields;
};

Patience patience_for(int ranks) {
  const bool own_core = ranks <= cpus_within_quota();
  return own_core ? Patience{4000, 64} : Patience{0, 16};
}

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(Host host)
      : host_(std::move(host)), ranks_here_(std::max(size(), host_.ranks_here)), patience_(patience_for(ranks_here_)) {
    host_.arena->allocate_for_good(kStagingBytes);
    own_slot().enter();
  }
  ~ShmTransport() override { own_slot().leave(); }

  int rank() const override { return host_.rank; }
  int size() const override { return static_cast<int>(host_.memory.size()); }

  bool reaches(int peer) const override { return peer >= 0 && peer < size(); }
  bool takes(Device device) const override { return device == Device::kHost; }
  bool shows_memory(int peer) const override { return reaches(peer); }

  RegisteredMemory allocate(std::size_t bytes) override { return {host_.arena->allocate(bytes), bytes}; }
  std::optional<std::uint64_t> offset_of(const void* data, std::size_t bytes) const override {
    return host_.arena->offset_of(data, bytes);
  }
  std::byte* memory_of(int peer, std::uint64_t offset) const override {
    return host_.memory[static_cast<std::size_t>(peer)] + offset;
  }

  // The first memory that a rank takes from its arena, which is new: it begins at 0 everywhere.
  std::byte* staging_of(int peer) const override { return host_.memory[static_cast<std::size_t>(peer)]; }
  std::size_t staging_bytes() const override { return kStagingBytes; }

  void announce(const Announcement& announcement) override { own_slot().announce(announcement); }
  std::optional<Announcement> announcement_of(int peer, std::uint64_t sequence) const override {
    return slot(peer).announcement(sequence);
  }
  std::optional<Entry> entry_of(int peer, std::uint64_t sequence) const override { return slot(peer).entry(sequence); }
  void signal(Progress progress) override { own_slot().signal(progress); }
  Progress progress_of(int peer) const override { return slot(peer).progress(); }
  void fail(const Error& error) noexcept override { own_slot().fail(error); }

  // They meet at a socket that bears the meeting's name.
  std::string open_meeting() override { return ""; }
  std::unique_ptr<Transport> join(const Meeting& meeting) override {
    Host host =
        join_processes({.job = meeting.name, .rank = meeting.rank, .size = meeting.size, .timeout = meeting.timeout});
    host.ranks_here = ranks_here_;
    return create(std::move(host));
  }

  std::size_t letter_bytes() const override { return Letterbox::kBytes; }
  bool post(const Letter& letter, const std::byte* data) override {
    own_slot().letters().write(letter.number, letter.stamp, data, letter.bytes);
    return own_slot().is_awaited();
  }
  bool read(int peer, const Letter& letter, std::byte* to) const override {
    return slot(peer).letters().read(letter.number, letter.stamp, to, letter.bytes);
  }

  bool await_briefly(int peer, const Letter& letter, std::byte* to) override {
    return look_for([&] { return read(peer, letter, to); });
  }
  bool await_briefly(int peer, Progress target) override {
    const RankSlot& awaited = slot(peer);
    return look_for([&] { return awaited.progress() >= target; });
  }

  bool wait_for(int peer, const Letter& letter, std::byte* to, Progress target,
                steady_clock::time_point deadline) override {
    return wait_until(peer, target, deadline,
                      [&] { return read(peer, letter, to) || slot(peer).progress() >= target; });
  }
  bool wait_for(int peer, Progress target, steady_clock::time_point deadline) override {
    return wait_until(peer, target, deadline, [&] { return slot(peer).progress() >= target; });
  }

 private:
  template <class There>
  bool look_for(const There& there) const {
    for (int i = 0; i < patience_.spins; ++i) {
      if (there()) return true;
      relax();
    }
    for (int i = 0; i < patience_.yields; ++i) {
      if (there()) return true;
      ::sched_yield();
    }
    return there();
  }

  template <class There>
  bool wait_until(int peer, Progress target, steady_clock::time_point deadline, const There& there) {
    RankSlot& awaited = slot(peer);
    while (true) {
      const Progress seen = awaited.progress();
      if (there()) return true;
      const auto trouble = trouble_with(peer, target);
      if (there()) return true;  // what a peer gave before it left, or died, counts
      if (trouble) throw *trouble;
      if (steady_clock::now() >= deadline) return false;
      awaited.park(seen, kLookAround, std::cref(there));  // by reference: nothing is allocated
    }
  }

  /// What keeps `peer` from coming that far: any peer has died or failed, or it has left.
  std::optional<Error> trouble_with(int peer, Progress target) const {
    // A peer's own word comes first: it knows more than its hung-up lifeline does.
    for (int other = 0; other < size(); ++other) {
      if (other != rank() && slot(other).state() == RankState::kFailed) return slot(other).failure();
    }
    if (slot(peer).state() == RankState::kLeft && slot(peer).progress() < target) {
      return Error(ErrorCode::kPeerLeft,
                   fmt::format("rank {} has left the group; do all ranks run the same number of operations?", peer),
                   {.rank = rank(), .peer = peer});
    }
    for (const int gone : hung_up(host_.peer_lifelines)) {
      // A rank that left in good order hangs up as well.
      if (slot(gone).state() == RankState::kLeft) continue;
      return Error(ErrorCode::kPeerDied, fmt::format("rank {} died", gone), {.rank = rank(), .peer = gone});
    }
    return std::nullopt;
  }

  RankSlot& slot(int peer) const { return host_.slots.get()[peer]; }
  RankSlot& own_slot() const { return slot(rank()); }

  Host host_;
  int ranks_here_;
  Patience patience_;
};

}  // namespace

std::unique_ptr<Transport> create(Host host) { return std::make_unique<ShmTransport>(std::move(host)); }

}  // namespace lockstep::shm
