#pragma once

#include "transport/announcement.h"
#include "transport/byte_streams.h"
#include "transport/meeting.h"

#include <lockstep/group.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lockstep {

/// How far a rank is: which operation, and how many of its steps it has finished. Only grows.
struct Progress {
  std::uint64_t sequence = 0;  ///< the operation's number in the group, from 1
  std::uint32_t steps = 0;     ///< every write of this rank in the operation's steps before this one is done

  static constexpr std::uint64_t kMostSteps = (1U << 24U) - 1;

  friend auto operator<=>(const Progress&, const Progress&) = default;
};

/// What a peer says of the operation it is in.
struct Entry {
  std::uint64_t fingerprint;
  std::uint64_t input_offset;
  std::uint64_t output_offset;
};

/// A small message that every rank of the group leaves for all others.
struct Letter {
  std::uint64_t number;  ///< from 1; before writing number k a rank has read everybody's number k - 1
  std::uint64_t stamp;   ///< tells it from all other letters; not 0
  std::size_t bytes;
};

/// Moves bytes between the ranks of a group, which all see each other's memory, and tells each how far the others are.
/// One object a rank.
///
/// A rank announces an operation, reads what peers show, and signals its progress; whoever depends on it waits for
/// that. What a rank wrote before `signal` is seen by whoever saw the signal.
///
/// Threads: one at a time. Errors: everything that waits throws an Error naming the peer if one dies, leaves or fails.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Whether operations work on that device's memory. The same on every rank.
  virtual bool takes(Device device) const = 0;

  /// Memory that peers see. Throws kOutOfMemory.
  virtual RegisteredMemory allocate(std::size_t bytes) = 0;
  /// Where this memory lies in what peers see of this rank; none if any of it is not registered.
  virtual std::optional<std::uint64_t> offset_of(const void* data, std::size_t bytes) const = 0;
  /// A peer's memory (or our own) at an offset that the peer announced.
  virtual std::byte* memory_of(int peer, std::uint64_t offset) const = 0;

  /// Memory of a fixed size, made with the group, through which plain buffers pass.
  virtual std::byte* staging_of(int peer) const = 0;
  virtual std::size_t staging_bytes() const = 0;

  /// Publishes what this rank is about to do; precedes the operation's first signal.
  virtual void announce(const Announcement& announcement) = 0;
  /// What a peer announced under that sequence number; none if not yet, or kAnnouncementsKept operations ago.
  virtual std::optional<Announcement> announcement_of(int peer, std::uint64_t sequence) const = 0;
  /// Of that only what must agree; for a little longer than the peer is in the operation.
  virtual std::optional<std::uint64_t> fingerprint_of(int peer, std::uint64_t sequence) const = 0;
  /// The same in short, cheap enough for every operation; only while the peer is in it.
  virtual std::optional<Entry> entry_of(int peer, std::uint64_t sequence) const = 0;

  /// The largest letter, in bytes. A letter needs no announcement and no signal; only if a peer sleeps, which post()
  /// says, must this rank announce and signal too.
  virtual std::size_t letter_bytes() const = 0;
  virtual bool post(const Letter& letter, const std::byte* data) = 0;
  /// Whether the peer's letter is there; then it is copied to `to`, which has room for letter_bytes().
  virtual bool read(int peer, const Letter& letter, std::byte* to) const = 0;
  /// Looks for it as long as staying awake is cheaper than sleeping; true if it is there. Not for who only looks
  /// whether something is wrong: its core is given to others meanwhile, for as long as they take.
  virtual bool await_briefly(int peer, const Letter& letter, std::byte* to) = 0;
  /// Waits until the letter is there or the peer has come that far; false if the deadline passed first.
  virtual bool wait_for(int peer, const Letter& letter, std::byte* to, Progress progress,
                        std::chrono::steady_clock::time_point deadline) = 0;

  /// Streams for messages from one rank to another, which collectives neither wait for nor hold up.
  virtual ByteStreams& messages() = 0;

  virtual void signal(Progress progress) = 0;
  virtual Progress progress_of(int peer) const = 0;
  /// Looks for it as long as staying awake is cheaper than sleeping; true if the peer has come that far.
  virtual bool await_briefly(int peer, Progress progress) = 0;
  /// Waits until the peer has come that far; false if the deadline passed first.
  virtual bool wait_for(int peer, Progress progress, std::chrono::steady_clock::time_point deadline) = 0;
  /// Tells the peers that this rank can go no further, and why. Whoever waits, for anyone, throws the same.
  virtual void fail(const Error& error) noexcept = 0;
  /// Whether any peer has told that, as far as is known, and whether one has; looked at after whatever the caller has
  /// read before. The former costs as good as nothing.
  virtual bool hears_of_failure() const = 0;
  virtual bool has_failed(int peer) const = 0;
  /// Throws if a peer has died or failed, as whatever waits does. Never waits.
  virtual void look_around() = 0;

  /// For the first rank of a smaller transport in the making: others can come from now on. What they must know to.
  virtual std::string open_meeting() = 0;
  /// Makes it: every rank that belongs to it calls this. Throws as the transport's join_processes.
  virtual std::unique_ptr<Transport> join(const Meeting& meeting) = 0;
};

}  // namespace lockstep
