#pragma once

#include "transport/byte_streams.h"
#include "transport/mpi/control.h"
#include "transport/mpi/process.h"

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace lockstep::mpi {

/// Chunks of a stream from one rank to another, in turn through two buffers. What is sent is taken back by the caller
/// only when the receiver has begun to take it: a rank that has completed an operation and computes moves no bytes.
/// But for what is buffered: a send that fits is the caller's at once, and goes in chunks so small that MPI hands them
/// over at once, too.
class Lane {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
  /// Less than MPI sends along with a message's envelope: 4 KiB with it in Open MPI through memory, and more elsewhere.
  static constexpr std::size_t kBufferedChunkBytes = (std::size_t{4} << 10) - 256;

  /// `buffer_bytes`: how much may wait for the receiver to take it.
  Lane(const Process& process, int world_rank, int tag, std::size_t buffer_bytes = 0)
      : process_(process), world_rank_(world_rank), tag_(tag), buffer_bytes_(buffer_bytes) {}
  Lane(Lane&&) = default;
  ~Lane();

  /// How many of the first bytes went. Until they have, each call begins with the same, or the first of them.
  std::size_t send(std::span<const iovec> spans);
  std::size_t receive(std::span<const iovec> spans);
  /// Whether to call send, or receive, again: it may take something now.
  bool has_room();
  bool has_bytes();
  std::uint64_t bytes_sent() const { return sent_; }
  std::uint64_t bytes_received() const { return received_; }

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    Request request;
    std::size_t bytes = 0;  ///< under way, or that came
    std::size_t frees = 0;  ///< of the buffer, once it is complete
    bool under_way = false;
  };
  struct Side {
    std::array<Chunk, 2> chunks;
    std::size_t first = 0;  ///< the older one
    std::size_t taken = 0;  ///< of what came in it
    Chunk& front() { return chunks[first]; }
  };

  bool is_complete(Chunk& chunk) const;
  void retire();
  bool fits(std::size_t bytes) const;
  void buffer(std::span<const iovec> spans, std::size_t bytes);
  void send_more(std::span<const iovec> spans);
  void post(Chunk& chunk, bool synchronous);
  void give_up_send(Chunk& chunk);
  void expect_more();

  const Process& process_;
  int world_rank_;
  int tag_;
  std::size_t buffer_bytes_;
  std::size_t buffered_bytes_ = 0;
  std::list<Chunk> buffered_;  ///< from the oldest on
  Side out_;
  Side in_;
  std::size_t gone_ = 0;  ///< that the caller does not know of yet
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

/// What a rank knows of its peers beside the data.
class Peers {
 public:
  Peers(const Process& process, int rank, const std::vector<int>& world_ranks, int tag);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(controls_.size()); }
  /// Hears what has come; whether any peer has told something. Throws if any has failed.
  bool check();
  /// Throws if it has left and sent no more than this rank has received of that stream.
  void throw_if_left(int peer, std::size_t stream, std::uint64_t received) const;
  /// As MessageTransport::idle_peers.
  std::vector<int> ask_who_is_idle();

  /// By rank; our own is empty.
  std::vector<std::unique_ptr<Control>>& controls() { return controls_; }

 private:
  std::vector<int> idle() const;

  int rank_;
  std::vector<std::unique_ptr<Control>> controls_;
};

/// The byte streams of one kind between a rank and all others.
class Streams final : public ByteStreams {
 public:
  struct Kind {
    int tag = 0;
    std::size_t number = 0;        ///< which of Control::Sent they are
    std::size_t buffer_bytes = 0;  ///< to each peer, of what it has not begun to take
  };
  Streams(const Process& process, Peers& peers, const std::vector<int>& world_ranks, const Kind& kind);

  std::size_t send(int peer, std::span<const iovec> spans) override;
  std::size_t receive(int peer, std::span<const iovec> spans) override;
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override;
  int patience() const override { return patience_; }

  std::uint64_t bytes_sent_to(int peer) const { return lanes_[static_cast<std::size_t>(peer)].bytes_sent(); }
  std::uint64_t bytes_sent() const;

 private:
  Lane& lane(int peer) { return lanes_[static_cast<std::size_t>(peer)]; }
  bool is_met(const Need& need);

  Peers& peers_;
  std::vector<Lane> lanes_;
  std::size_t number_;
  int patience_;
};

}  // namespace lockstep::mpi
