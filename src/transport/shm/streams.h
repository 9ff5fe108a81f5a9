#pragma once

#include "transport/byte_streams.h"
#include "transport/shm/patience.h"
#include "transport/shm/peers.h"
#include "transport/shm/stream_buffer.h"

#include <vector>

namespace lockstep::shm {

/// A buffer from each rank to each other. `peers` and the memory outlive it. The first send to a peer makes the pages
/// of its buffer present: sending throws Error (kOutOfMemory) where there is no memory for them. Who looks for what a
/// peer has not sent takes a page.
class Streams final : public ByteStreams {
 public:
  /// `buffers[s]`: those that rank s writes into, one for each rank.
  Streams(Peers& peers, std::vector<StreamBuffer*> buffers, Patience patience)
      : peers_(peers), buffers_(std::move(buffers)), are_present_(buffers_.size()), patience_(patience) {}

  std::size_t send(int peer, std::span<const iovec> spans) override;
  std::size_t receive(int peer, std::span<const iovec> spans) override;
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override;
  /// None: wait() itself stays awake for a while.
  int patience() const override { return 0; }

 private:
  StreamBuffer& buffer(int from, int to) const { return buffers_[static_cast<std::size_t>(from)][to]; }
  void make_present(int peer);
  bool is_met(const Need& need) const;
  void throw_if_hopeless(std::span<const Need> needs) const;

  Peers& peers_;
  std::vector<StreamBuffer*> buffers_;
  std::vector<bool> are_present_;  ///< of this rank's own, by whom they are to
  Patience patience_;
};

}  // namespace lockstep::shm
