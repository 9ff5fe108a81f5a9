#pragma once

#include "runtime/announced.h"
#include "runtime/list_bytes.h"
#include "runtime/message_plan.h"
#include "transport/announcement.h"
#include "transport/message_transport.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace lockstep {

/// In one call of the system: little enough that sending and receiving take turns.
inline constexpr std::size_t kMessageBytesAtOnce = std::size_t{1} << 20;

/// A rank, and what it is about to do.
struct RankAnnouncement {
  int rank = 0;
  const Announcement& announced;
};
/// Throws Error (kMismatch), with both in words, if that is not the same, or what was before is not: then with the
/// first of `own_past` that they show to have differed.
void require_agreement(const RankAnnouncement& own, const RankAnnouncement& theirs, const Announced& own_past);

/// Where a chunk lies during one call.
struct ChunkPlace {
  std::byte* input = nullptr;  ///< what it holds at the start; only read, unless it is the output too
  std::byte* output = nullptr;
  std::size_t bytes = 0;
};

/// How far one call is, in bytes: what its streams tell each other.
struct MessageProgress {
  std::vector<ChunkPlace> chunks;
  std::vector<std::size_t> moved;  ///< by move: how much of the chunk is in place
  std::vector<std::size_t> sent;   ///< by send

  std::size_t bytes_of(int chunk) const { return chunks[static_cast<std::size_t>(chunk)].bytes; }
  std::size_t moved_by(int move) const { return moved[static_cast<std::size_t>(move)]; }
};

/// How much of its chunk a move may overwrite: what has been moved before, and sent by whoever sends the old value.
std::size_t free_to_write(const MessagePlan::Move& move, const MessageProgress& progress);

/// Contributions that have arrived from one peer and wait to be combined: a circular buffer of a fixed size, however
/// long they are.
class ReceiveBuffer {
 public:
  static constexpr std::size_t kBytes = std::size_t{512} << 10;

  /// Made at first use.
  std::byte* data();

 private:
  std::unique_ptr<std::byte[]> data_;
};

/// What goes to one peer in one operation: first the operation's announcement, then the chunks of its sends, straight
/// from where they lie, as far as they are ready.
class OutgoingStream {
 public:
  OutgoingStream(const MessagePlan& plan, const MessagePlan::Stream& stream, const MessageProgress& layout);

  void begin(const Announcement& announcement);
  /// Sends what goes without waiting; whether anything did.
  bool flush(MessageTransport& transport, MessageProgress& progress);
  /// Sends the announcement at once, which otherwise travels with the first of what it announces.
  void announce(MessageTransport& transport);
  bool finished() const { return has_announced() && at_ == sends_.size(); }
  /// Whether it has something to send that did not go.
  bool wants_room() const { return wants_room_; }
  int peer() const { return peer_; }
  /// What its lists take of memory.
  std::size_t bytes_kept() const { return bytes_of_lists(sends_, spans_); }

 private:
  bool has_announced() const { return !used_ || announced_ == sizeof announcement_; }
  void note_sent(std::size_t bytes, MessageProgress& progress);
  iovec rest_of_announcement() const;

  const MessagePlan* plan_;
  int peer_;
  bool used_;               ///< anything at all is sent, if only an announcement; else that is not either
  std::vector<int> sends_;  ///< those that have bytes
  Announcement announcement_;
  std::size_t announced_ = 0;
  std::size_t at_ = 0;
  bool wants_room_ = false;
  std::vector<iovec> spans_;
};

/// What comes from one peer: first what it thinks the operation is, then the chunks of its arrivals. Copies go straight
/// to where they belong; contributions to the buffer.
class IncomingStream {
 public:
  IncomingStream(const MessagePlan& plan, const MessagePlan::Stream& stream, const MessageProgress& layout);

  /// `own` outlives the operation.
  void begin(const Announced& own);
  /// From now on fill() asks again, although nothing seemed left.
  void look_again() { is_drained_ = false; }
  /// Receives what is there; whether anything was. Does not ask again where whole chunks came and no more was there,
  /// nor where nothing was, until look_again(). Throws Error (kMismatch) if the peer announced something else.
  bool fill(MessageTransport& transport, ReceiveBuffer& buffer, MessageProgress& progress);
  bool finished() const { return entered() && at_ == arrivals_.size(); }
  bool wants_bytes() const { return wants_bytes_; }
  bool entered() const { return !used_ || announced_ == sizeof theirs_; }
  int peer() const { return peer_; }
  /// What its lists take of memory.
  std::size_t bytes_kept() const { return bytes_of_lists(arrivals_, arrival_of_move_, spans_); }

  /// How many arrivals are there whole, and which move each belongs to.
  std::size_t arrived() const { return at_; }
  int move_of_arrival(std::size_t arrival) const { return arrivals_[arrival].move; }
  /// How much of the arrival that belongs to this move is there.
  std::size_t arrived_for(int move) const;
  /// Byte `offset` of a contribution, and how many follow it in one piece.
  std::span<const std::byte> contribution(ReceiveBuffer& buffer, int move, std::size_t offset) const;

 private:
  struct Arrival {
    int move;
    bool combined;  ///< waits in the buffer
    std::size_t bytes;
    std::size_t buffer_begin;  ///< of all that goes through the buffer in this operation
  };

  /// For what may come of the arrival now, from there on; how many bytes that is.
  std::size_t add_spans_for(const Arrival& arrival, std::size_t from, ReceiveBuffer& buffer,
                            const MessageProgress& progress);
  std::size_t buffer_freed(const MessageProgress& progress);
  void note_received(std::size_t bytes, MessageProgress& progress);

  const MessagePlan* plan_;
  int peer_;
  bool used_;
  std::vector<Arrival> arrivals_;     ///< those that have bytes
  std::vector<int> arrival_of_move_;  ///< kNone where nothing comes from here
  const Announced* own_ = nullptr;
  Announcement theirs_;
  std::size_t announced_ = 0;
  std::size_t at_ = 0;
  std::size_t received_ = 0;  ///< of the arrival at hand
  std::size_t oldest_ = 0;    ///< arrival whose bytes may still be in the buffer
  bool wants_bytes_ = false;
  bool is_drained_ = false;
  std::vector<iovec> spans_;
};

}  // namespace lockstep
