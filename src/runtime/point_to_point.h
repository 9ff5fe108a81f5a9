#pragma once

#include "runtime/reused_queue.h"
#include "runtime/running_operation.h"
#include "runtime/vigil.h"
#include "transport/byte_streams.h"

#include <lockstep/group.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The messages of one rank: what it sends to, and receives from, each other rank of its group. Those from one rank to
/// another pass in the order in which they are asked for, on both sides; nothing else is ordered.
///
/// A message is a header, which says what follows, and the elements. A send is complete when its stream has taken the
/// last byte; the receiver compares the header with what it expects.
///
/// One thread at a time. Errors are the streams', kMismatch if the two ranks differ, kTimeout; after one, no more
/// calls.
class PointToPoint {
 public:
  enum class Direction : std::uint8_t { kSend, kReceive };
  struct Message {
    Direction direction;
    int peer;
    Buffer buffer;
    std::string_view purpose;
    std::chrono::milliseconds timeout;
  };

  /// `streams` outlives it.
  PointToPoint(ByteStreams& streams, int rank, int size);

  /// Names a message among all that were started: it is complete once `is_complete(ticket)`.
  using Ticket = std::uint64_t;
  /// Takes it up; nothing moves yet.
  Ticket start(const Message& message);
  bool is_complete(Ticket ticket) const;
  /// Nothing is under way.
  bool idle() const { return under_way_ == 0; }

  /// Moves all messages as far as they go without waiting.
  void advance();
  using Time = std::chrono::steady_clock::time_point;
  /// Waits until something can move, until then at the longest. For a message that is not complete. Throws kTimeout
  /// once its deadline has passed.
  void wait_for(Ticket ticket, Time at_most);
  /// For who does not wait but asks again and again: throws what wait_for() would, of any message under way.
  void look_for_trouble();
  /// For who sleeps by himself, as ByteStreams' add_sockets: adds those by which what is under way comes further.
  void add_awaited_sockets(std::vector<pollfd>& sockets);
  /// The least that is left of the first message of any stream; more than there can be if nothing is under way.
  std::uint64_t least_bytes_left() const;

  /// In which message the error happened that came out of this object.
  ErrorScene scene(std::string group) const;

 private:
  /// Before the elements, in the stream.
  struct Header {
    std::uint64_t count;
    std::uint64_t dtype;
  };
  struct Queued {
    Buffer buffer;
    std::uint64_t number = 0;
    std::string purpose;
    std::chrono::milliseconds timeout{0};
    CallDeadline deadline;
  };
  /// One direction of one peer.
  struct Lane {
    Direction direction;
    int peer;
    ReusedQueue<Queued> queue;
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    Header header{};        ///< of the first in the queue: ours to send, or theirs as far as it has come
    std::size_t moved = 0;  ///< of the header and the elements
  };

  static Header header_of(const Buffer& buffer);
  static std::size_t index_of(Direction direction, int peer);
  static std::uint64_t number_of(Ticket ticket) { return ticket & ((Ticket{1} << kNumberBits) - 1); }
  Lane& lane_of(Ticket ticket) { return lanes_[ticket >> kNumberBits]; }
  const Lane& lane_of(Ticket ticket) const { return lanes_[ticket >> kNumberBits]; }

  static std::size_t bytes_of(const Lane& lane) { return sizeof(Header) + lane.queue.front().buffer.bytes(); }
  bool advance(Lane& lane);
  std::size_t move(Lane& lane);
  void check_header(Lane& lane) const;
  void find_needs();
  [[noreturn]] void throw_late() const;

  static constexpr unsigned kNumberBits = 40;

  ByteStreams& streams_;
  int rank_;
  std::vector<Lane> lanes_;  ///< two for each peer
  std::size_t under_way_ = 0;
  const Lane* at_lane_ = nullptr;  ///< what was worked on last
  const Queued* at_ = nullptr;
  Vigil vigil_;  ///< since something moved
  std::vector<ByteStreams::Need> needs_;
};

/// "send" or "receive".
std::string_view to_string(PointToPoint::Direction direction);

}  // namespace lockstep
