#pragma once

#include "transport/meeting.h"

#include <lockstep/error.h>
#include <lockstep/group.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Moves bytes between ranks that do not see each other's memory. One object a rank.
///
/// From each rank to each other runs one stream of bytes: what is sent to a peer arrives there, whole and in order, and
/// nothing marks where one send ended; both sides know what comes next. Nothing is copied into a queue of ours: a call
/// moves what goes without waiting, straight from and to the caller's memory, which is the caller's again on return.
///
/// Threads: one at a time. Errors: receive, send and wait throw an Error naming the peer if one dies or fails, or has
/// left and is still needed.
class MessageTransport {
 public:
  virtual ~MessageTransport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Questions. The answer about a peer is the same seen from the peer.
  virtual bool reaches(int peer) const = 0;
  virtual bool takes(Device device) const = 0;

  /// Memory that is good to send from. Throws kOutOfMemory.
  virtual RegisteredMemory allocate(std::size_t bytes) = 0;

  /// How many bytes of the spans went, in their order; 0 if none can now.
  virtual std::size_t send(int peer, std::span<const iovec> spans) = 0;
  /// How many bytes came into the spans, in their order; 0 if none are there.
  virtual std::size_t receive(int peer, std::span<const iovec> spans) = 0;

  /// Something that a rank cannot go on without.
  struct Need {
    int peer;
    bool room;   ///< to send to it
    bool bytes;  ///< from it
  };
  /// Sleeps until one of the needs may be met; false if the deadline passed first.
  virtual bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) = 0;
  /// The peers that are there but do not wait for anybody in this group: those for whose sake others wait. Asks them,
  /// and gives them a quarter of a second to answer. Throws what one that failed meanwhile says.
  virtual std::vector<int> idle_peers() = 0;
  /// How many times to try in vain, letting others run, before sleeping: where every rank has a core to itself an
  /// answer comes within microseconds; where ranks share cores, who tries keeps the one it waits for from running.
  virtual int patience() const = 0;

  /// Tells the peers that this rank can go no further, and why. Whoever waits, for anyone, throws the same.
  virtual void fail(const Error& error) noexcept = 0;

  /// For the first rank of a smaller transport in the making: others can come from now on. What they must know to.
  virtual std::string open_meeting() = 0;
  /// Makes it: every rank that belongs to it calls this. Throws as the transport's join_processes.
  virtual std::unique_ptr<MessageTransport> join(const Meeting& meeting) = 0;
};

}  // namespace lockstep
