#pragma once

#include "base/file_descriptor.h"
#include "base/own_process.h"
#include "transport/tcp/control.h"

#include <lockstep/error.h>
#include <poll.h>

#include <chrono>
#include <span>
#include <vector>

namespace lockstep::tcp {

/// What a rank knows of its peers beside the data: who is there, who left, failed or died, and of what.
class Peers {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// `controls`: by rank; our own is empty.
  Peers(int rank, std::vector<FileDescriptor> controls);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(controls_.size()); }

  /// Sleeps until one of the sockets is ready for what `wanted` says, or the deadline has passed, which gives false.
  /// Throws what has become of any peer, unless a socket is ready: what has come is to be taken first, for a peer's
  /// failure in the next operation must not overtake what it gave to this one.
  bool poll(std::span<const pollfd> wanted, Deadline deadline);

  /// As MessageTransport's.
  void listen();
  void answer(std::vector<pollfd>& sockets);
  void look_around();

  /// As MessageTransport::idle_peers.
  std::vector<int> ask_who_is_idle();
  /// As MessageTransport's.
  void tell(int peer, std::span<const std::byte> what) noexcept { control(peer).tell(what); }
  std::span<const std::byte> told_by(int peer) { return control(peer).told(); }

  /// Throws why the peer's data stream broke, which it may do before the word that explains it has arrived.
  [[noreturn]] void throw_broken(int peer);

  /// Says so, and sees to it that what was given before arrives, on the streams' sockets too, which are to be closed
  /// next. Waits no longer for that than a last word is waited for, and not at all in a group that has failed here.
  /// `streams` has room for one more of each peer, since who leaves may have no memory.
  void leave(std::vector<pollfd>& streams) noexcept;
  void say_failed(const Error& error) noexcept;

 private:
  /// Throws if any peer has failed or died.
  void check() const;
  std::vector<int> idle() const;
  void add_controls(std::vector<pollfd>& sockets) const;
  void listen_to_all();
  /// Those that are ready, of what was polled from there on.
  void listen_to_ready(std::size_t first_control);
  /// Whether a peer is known to have failed or died, so that check() throws.
  bool is_hopeless() const;
  /// Last words, which may have to wait for the peers to read what was said before.
  void finish_saying(Deadline deadline) noexcept;
  Error died(int peer) const;
  Control& control(int peer) { return controls_[static_cast<std::size_t>(peer)]; }
  Control::State state(int peer) const { return controls_[static_cast<std::size_t>(peer)].state(); }

  OwnProcess process_;
  int rank_;
  std::vector<Control> controls_;  ///< by rank; our own says nothing
  std::vector<pollfd> polled_;
  Deadline listens_at_;      ///< not before
  bool has_failed_ = false;  ///< and said so
};

}  // namespace lockstep::tcp
