#pragma once

#include "schedule/schedule.h"

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

/// One rank's view of a schedule, made ready to run where ranks see no memory but their own: what goes to each peer and
/// comes from it, in the order in which both know it (by step, then chunk), and what each transfer must wait for at
/// this rank. Nothing waits for a step as such, nor for a whole chunk: what has to come first is told chunk by chunk
/// and holds byte by byte, so that a part of a chunk travels on while the rest still arrives.
struct MessagePlan {
  static constexpr int kNone = -1;

  /// What one chunk takes in in one step: a copy from one rank, or contributions of several that are combined at once
  /// with its own value.
  struct Move {
    int step;
    TransferKind kind;
    int chunk;
    std::vector<int> sources;      ///< ascending
    bool finishes;                 ///< the sum is complete: what follows it (a mean's division) is done here
    int after_move;                ///< the chunk's move before this one; kNone: it holds what it held at the start
    std::vector<int> after_sends;  ///< those that read the value which this move overwrites
    friend bool operator==(const Move&, const Move&) = default;
  };
  struct Send {
    int step;
    int chunk;
    int to;
    int after_move;  ///< the move that made the value; kNone: it was there at the start
    friend bool operator==(const Send&, const Send&) = default;
  };
  struct Arrival {
    int move;
    std::size_t source;  ///< which of the move's
    friend bool operator==(const Arrival&, const Arrival&) = default;
  };
  struct Stream {
    int peer;
    std::vector<int> sends;
    std::vector<Arrival> arrivals;
    friend bool operator==(const Stream&, const Stream&) = default;
  };

  std::string algorithm;
  int rank = 0;
  int ranks = 1;
  int chunks = 1;  ///< of all pieces: chunk c of piece k comes k times the chunks of one behind chunk c of the first
  int pieces = 1;
  std::vector<Move> moves;      ///< by piece, step, chunk
  std::vector<Send> sends;      ///< by piece, step, chunk
  std::vector<Stream> streams;  ///< one for each peer that anything goes to or comes from, ascending

  /// What its lists take of memory.
  std::size_t bytes_kept() const;
  friend bool operator==(const MessagePlan&, const MessagePlan&) = default;
};

/// `schedule` may be the whole or `rank`'s view; it must have been proved.
MessagePlan make_message_plan(const Schedule& schedule, int rank);

/// The plan of one piece for so many pieces of the buffer, one after the other. No piece waits for another but in its
/// place on the streams.
MessagePlan in_pieces(const MessagePlan& one, int pieces);

}  // namespace lockstep
