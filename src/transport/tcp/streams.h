#pragma once

#include "base/file_descriptor.h"
#include "topology/dealing.h"
#include "transport/byte_streams.h"
#include "transport/tcp/peers.h"

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace lockstep::tcp {

/// A connection to each peer. `peers` outlives it.
class Streams final : public ByteStreams {
 public:
  /// `sockets`: by rank; our own is empty. `here`: among those who share this machine's cores.
  Streams(Peers& peers, std::vector<FileDescriptor> sockets, const RankHere& here);

  std::size_t send(int peer, std::span<const iovec> spans) override;
  std::size_t receive(int peer, std::span<const iovec> spans) override;
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override;
  void add_sockets(std::span<const Need> needs, std::vector<pollfd>& sockets) const override;
  int patience() const override { return 2000; }
  bool shares_core() const override { return shares_core_; }

  /// To all peers.
  std::uint64_t bytes_sent() const { return bytes_sent_.load(std::memory_order_relaxed); }

  /// Adds those of all peers, to wait for bytes.
  void add_all_sockets(std::vector<pollfd>& sockets) const;
  /// The first peer's.
  const FileDescriptor& any_socket() const;

 private:
  /// Throws why a call of the system failed, which is the peer's death only where the connection ended.
  [[noreturn]] void throw_failed(int peer, const char* what, int error);
  int socket(int peer) const { return sockets_[static_cast<std::size_t>(peer)].get(); }

  Peers& peers_;
  std::vector<FileDescriptor> sockets_;  ///< by rank
  bool shares_core_;
  std::atomic<std::uint64_t> bytes_sent_ = 0;  ///< asked for by other threads than those that send
  std::vector<pollfd> polled_;
};

}  // namespace lockstep::tcp
