#pragma once

#include "transport/byte_streams.h"
#include "transport/meeting.h"
#include "transport/vendor.h"

#include <lockstep/error.h>
#include <lockstep/group.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Moves bytes between ranks that do not see each other's memory: each reaches all others. One object a rank.
///
/// Its own streams carry the collectives. Nothing is copied into a queue of ours: a call moves what goes without
/// waiting, straight from and to the caller's memory.
class MessageTransport : public ByteStreams {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Whether operations work on that device's memory. The same on every rank.
  virtual bool takes(Device device) const = 0;

  /// Memory that is good to send from. Throws kOutOfMemory.
  virtual RegisteredMemory allocate(std::size_t bytes) = 0;

  /// How much of a large buffer a collective had better take through its schedule at a time; 0: all of it. The same on
  /// every rank.
  virtual std::size_t piece_bytes() const { return 0; }

  /// Other streams, for messages from one rank to another, which collectives neither wait for nor hold up.
  virtual ByteStreams& messages() = 0;

  /// The library beneath, if it does collectives as a whole; else null.
  virtual Vendor* vendor() { return nullptr; }

  /// By all of these streams, since the transport was made.
  virtual std::uint64_t bytes_sent() const = 0;

  /// Takes what peers have said beside the data, unless it has just done so; never waits, and throws no peer's failure.
  /// For who may find all data there at once, again and again: a rank that waits hears its peers anyway.
  virtual void listen() {}

  /// The same at once, for who sleeps by himself (add_sockets) and waits for somebody: says so to those who ask
  /// (idle_peers), and adds the sockets by which peers will say more.
  virtual void answer(std::vector<pollfd>& /*sockets*/) {}

  /// The peers that are there but do not wait for anybody in this group: those for whose sake others wait. Asks them,
  /// and gives them a quarter of a second to answer. Throws what one that failed meanwhile says.
  virtual std::vector<int> idle_peers() = 0;

  /// Tells a peer something of this rank, of at most kMostToldBytes, which that knows once it waits or listens; and
  /// what a peer told this rank last, nothing if it never did. For what is rare, beside the data. Never of a rank
  /// itself.
  virtual void tell(int peer, std::span<const std::byte> what) = 0;
  virtual std::span<const std::byte> told_by(int peer) = 0;
  static constexpr std::size_t kMostToldBytes = 512;

  /// Tells the peers that this rank can go no further, and why. Whoever waits, for anyone, throws the same.
  virtual void fail(const Error& error) noexcept = 0;
  /// Throws if a peer has died or failed, as whatever waits does. Never waits.
  virtual void look_around() = 0;

  /// For the first rank of a smaller transport in the making: others can come from now on. What they must know to.
  virtual std::string open_meeting() = 0;
  /// Makes it: every rank that belongs to it calls this. Throws as the transport's join_processes.
  virtual std::unique_ptr<MessageTransport> join(const Meeting& meeting) = 0;
};

}  // namespace lockstep
