#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

/// From each rank of a group to each other one stream of bytes: what is sent to a peer arrives there, whole and in
/// order, and nothing marks where one send ended; both sides know what comes next.
///
/// Threads: one at a time. Errors: wait throws an Error naming the peer if one dies or fails, or has left and is still
/// needed. receive and send may do so too, where they notice; else they move nothing, and who waits then is told.
class ByteStreams {
 public:
  virtual ~ByteStreams() = default;

  /// How many bytes of the spans went, in their order; 0 if none can now. What went is the caller's again.
  virtual std::size_t send(int peer, std::span<const iovec> spans) = 0;
  /// How many bytes came into the spans, in their order; 0 if none are there.
  virtual std::size_t receive(int peer, std::span<const iovec> spans) = 0;

  /// Something that a rank cannot go on without.
  struct Need {
    int peer;
    bool room;   ///< to send to it
    bool bytes;  ///< from it
  };
  /// Sleeps until one of the needs may be met, or a peer has told something (MessageTransport::tell); false if the
  /// deadline passed first.
  virtual bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) = 0;
  /// The same for who sleeps by himself, which he may do while another thread uses the streams: adds the sockets that
  /// become ready. None where it is not sockets that a rank waits for.
  virtual void add_sockets(std::span<const Need> /*needs*/, std::vector<pollfd>& /*sockets*/) const {}
  /// How many times to try in vain, letting others run, before sleeping (runtime/vigil.h).
  virtual int patience() const = 0;
  /// Whether other ranks work on this one's core, so that who looks in vain keeps them from it.
  virtual bool shares_core() const { return false; }
};

}  // namespace lockstep
