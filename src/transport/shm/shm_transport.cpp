#include "transport/shm/shm_transport.h"

#include "base/own_process.h"
#include "transport/shm/asymmetric_fence.h"
#include "transport/shm/join.h"
#include "transport/shm/patience.h"
#include "transport/shm/peers.h"
#include "transport/shm/streams.h"

#include <lockstep/error.h>

#include <algorithm>
#include <functional>

namespace lockstep::shm {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(Host host)
      : host_(std::move(host)),
        ranks_here_(std::max(static_cast<int>(host_.memory.size()), host_.ranks_here)),
        patience_(ranks_here_),
        peers_(host_.rank, static_cast<int>(host_.memory.size()), host_.slots, std::move(host_.peer_lifelines)),
        messages_(peers_, buffers_of(host_.memory), patience_) {
    const std::size_t ranks = host_.memory.size();
    host_.arena->allocate_for_good(kStagingBytes + ranks * sizeof(StreamBuffer), present_bytes(ranks));
    peers_.own_slot().enter();
  }
  ~ShmTransport() override {
    if (process_.is_this()) peers_.own_slot().leave();
  }

  int rank() const override { return peers_.rank(); }
  int size() const override { return peers_.size(); }

  bool takes(Device device) const override { return device == Device::kHost; }

  RegisteredMemory allocate(std::size_t bytes) override { return {host_.arena->allocate(bytes), bytes}; }
  std::optional<std::uint64_t> offset_of(const void* data, std::size_t bytes) const override {
    return host_.arena->offset_of(data, bytes);
  }
  std::byte* memory_of(int peer, std::uint64_t offset) const override {
    return host_.memory[static_cast<std::size_t>(peer)] + offset;
  }

  std::byte* staging_of(int peer) const override { return first_memory_of(host_.memory, peer); }
  std::size_t staging_bytes() const override { return kStagingBytes; }

  void announce(const Announcement& announcement) override { peers_.own_slot().announce(announcement); }
  std::optional<Announcement> announcement_of(int peer, std::uint64_t sequence) const override {
    return peers_.slot(peer).announcement(sequence);
  }
  std::optional<std::uint64_t> fingerprint_of(int peer, std::uint64_t sequence) const override {
    return peers_.slot(peer).fingerprint(sequence);
  }
  std::optional<Entry> entry_of(int peer, std::uint64_t sequence) const override {
    return peers_.slot(peer).entry(sequence);
  }
  void signal(Progress progress) override { peers_.own_slot().signal(progress); }
  Progress progress_of(int peer) const override { return peers_.slot(peer).progress(); }
  void fail(const Error& error) noexcept override {
    if (!process_.is_this()) return;
    peers_.own_slot().fail(error);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank()) peers_.slot(peer).hear_of_failure();
    }
  }
  bool hears_of_failure() const override {
    light_fence();
    return peers_.own_slot().hears_of_failure();
  }
  bool has_failed(int peer) const override {
    light_fence();
    return peers_.slot(peer).state() == RankState::kFailed;
  }
  void look_around() override {
    if (const auto trouble = peers_.trouble()) throw *trouble;
  }

  ByteStreams& messages() override { return messages_; }

  // They meet at a socket that bears the meeting's name.
  std::string open_meeting() override { return ""; }
  std::unique_ptr<Transport> join(const Meeting& meeting) override {
    Host host = join_processes({.job = meeting.name,
                                .rank = meeting.rank,
                                .size = meeting.size,
                                .timeout = meeting.timeout,
                                .company = meeting.company});
    host.ranks_here = ranks_here_;
    return create(std::move(host));
  }

  std::size_t letter_bytes() const override { return Letterbox::kBytes; }
  bool post(const Letter& letter, const std::byte* data) override {
    peers_.own_slot().letters().write(letter.number, letter.stamp, data, letter.bytes);
    return peers_.own_slot().is_awaited();
  }
  bool read(int peer, const Letter& letter, std::byte* to) const override {
    return peers_.slot(peer).letters().read(letter.number, letter.stamp, to, letter.bytes);
  }

  bool await_briefly(int peer, const Letter& letter, std::byte* to) override {
    return patience_.look_for([&] { return read(peer, letter, to); });
  }
  bool await_briefly(int peer, Progress target) override {
    const RankSlot& awaited = peers_.slot(peer);
    return patience_.look_for([&] { return awaited.progress() >= target; });
  }

  bool wait_for(int peer, const Letter& letter, std::byte* to, Progress target,
                steady_clock::time_point deadline) override {
    return wait_until(peer, deadline, [&] { return read(peer, letter, to) || peers_.slot(peer).progress() >= target; });
  }
  bool wait_for(int peer, Progress target, steady_clock::time_point deadline) override {
    return wait_until(peer, deadline, [&] { return peers_.slot(peer).progress() >= target; });
  }

 private:
  /// `there` cannot become true any more once the peer has left.
  template <class There>
  bool wait_until(int peer, steady_clock::time_point deadline, const There& there) {
    RankSlot& awaited = peers_.slot(peer);
    while (true) {
      const Progress seen = awaited.progress();
      if (there()) return true;
      auto trouble = peers_.trouble();
      if (!trouble) trouble = peers_.absence_of(peer);
      if (there()) return true;  // what a peer gave before it left, or died, counts
      if (trouble) throw *trouble;
      if (steady_clock::now() >= deadline) return false;
      awaited.park(seen, Peers::slice_before(deadline), std::cref(there));  // by reference: nothing is allocated
    }
  }

  /// Who is alone stages nothing. Buffers for messages have their pages once somebody sends (Streams): of many ranks
  /// they would be most of all that a group takes. Those of a few lie in a huge page with what is staged.
  static std::size_t present_bytes(std::size_t ranks) {
    constexpr std::size_t kAFew = 8;
    if (ranks == 1) return 0;
    return kStagingBytes + (ranks <= kAFew ? ranks * sizeof(StreamBuffer) : 0);
  }

  /// What a rank takes from its arena, which is new, first: where to stage, and buffers for messages behind.
  static std::byte* first_memory_of(const std::vector<std::byte*>& memory, int rank) {
    return memory[static_cast<std::size_t>(rank)] + first_place(rank);
  }
  static std::vector<StreamBuffer*> buffers_of(const std::vector<std::byte*>& memory) {
    std::vector<StreamBuffer*> buffers;
    buffers.reserve(memory.size());
    for (int rank = 0; rank < static_cast<int>(memory.size()); ++rank) {
      buffers.push_back(reinterpret_cast<StreamBuffer*>(first_memory_of(memory, rank) + kStagingBytes));
    }
    return buffers;
  }

  OwnProcess process_;
  Host host_;
  int ranks_here_;
  Patience patience_;
  Peers peers_;
  Streams messages_;
};

}  // namespace

std::unique_ptr<Transport> create(Host host) { return std::make_unique<ShmTransport>(std::move(host)); }

}  // namespace lockstep::shm
