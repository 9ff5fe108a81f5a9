#pragma once

#include "planner/one_host/moment.h"
#include "planner/one_host/tcp_costs.h"
#include "runtime/message_plan.h"

#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace lockstep {

/// Lets the message plans of all ranks run on cores, in time, call by call as MessageOperation does: a rank sends what
/// is ready on each of its streams, receives what is there, combines what is complete, and does so again until nothing
/// moves. Then its core goes on to its next rank that can do something; where none can, until one hears from another
/// core.
class TcpTurns {
 public:
  struct Host {
    int cores = 1;             ///< no more than ranks, of which neighbours share one
    int parts = 1;             ///< of a chunk, which go one after the other
    double bytes = 0;          ///< that a core has in its hands: of its ranks' buffers, and what they receive
    double bytes_at_once = 0;  ///< of them, of what is under way: by these a byte has its price
  };

  /// `plans`, by rank, outlive it, as does `seconds`, what each cost takes. `chunk_bytes`: of each of the plans'
  /// chunks.
  TcpTurns(const std::vector<MessagePlan>& plans, std::vector<double> chunk_bytes, const Host& host,
           const TcpCosts& seconds);

  /// What one operation of those counted costs, along the longest chain of what waited for what. Runs once.
  TcpCosts run(const Length& length);

 private:
  using Moment = lockstep::Moment<TcpCosts>;
  /// A chunk on its way, by its number among the sender's sends and among the receiver's moves. None where a stream has
  /// nothing but its announcement.
  struct Item {
    int send = MessagePlan::kNone;
    int move = MessagePlan::kNone;
  };
  /// From one rank to another. `sent` and `received` count parts since the first operation.
  struct Stream {
    int from = 0;
    int to = 0;
    std::vector<Item> items;
    long sent = 0;
    long received = 0;
    std::deque<Moment> under_way;  ///< when each part that was sent and not received was there
    Moment taken;                  ///< when its receiver took the last part
    bool is_drained = false;       ///< its receiver does not ask again before its next turn (IncomingStream::fill())
  };
  /// Where a send or an arrival stands.
  struct Seat {
    std::size_t stream;
    std::size_t item;
  };
  struct Reduction {
    int move;
    std::vector<Seat> arrivals;
  };
  struct Rank {
    std::vector<std::size_t> outgoing;
    std::vector<std::size_t> incoming;
    std::vector<std::optional<Seat>> seats;  ///< by send; none of a chunk without bytes
    std::vector<Reduction> reductions;
    std::vector<int> moved;  ///< parts that are in place, by move
    int operation = 0;
    bool is_inside = false;
    bool is_waiting = false;
    std::size_t next_call = 0;
    bool has_moved = false;  ///< since it began with its first stream
  };
  struct Core {
    Moment now;
    int current = 0;  ///< rank that ran last
    bool is_idle = false;
  };

  void run_until(int over, int operations);
  Moment meet();
  int count() const { return static_cast<int>(ranks_.size()); }
  int core_of(int rank) const;
  int first_on_core(int core) const;
  void lay_streams();
  void note_arrivals(int rank);

  long parts_of(const Stream& stream) const { return static_cast<long>(stream.items.size()) * host_.parts; }
  long begun(const Stream& stream, int rank) const;
  int done_of(const Stream& stream, long done, std::size_t item, int rank) const;
  bool is_ready(const Stream& stream) const;
  bool is_wanted(const Stream& stream) const;
  int free_to_write(int rank, int move) const;
  std::optional<Moment> woken(int rank) const;

  void spend(Core& core, std::size_t cost, double amount);
  void spend_bytes(Core& core, double bytes, bool are_cold);
  double contention(const Core& core) const;
  double next_time(int core) const;
  void step(int core);
  void wake(int core);
  void go_on(int rank);
  void choose_next(int core);
  void resume(int core, int rank);
  void begin_calls(int rank);
  void enter(int rank);
  void leave(int rank);
  bool send(Stream& stream);
  bool receive(Stream& stream);
  bool combine(int rank);
  bool is_complete(int rank) const;

  const std::vector<MessagePlan>& plans_;
  std::vector<double> chunk_bytes_;
  Host host_;
  std::array<double, TcpCost::kSizes.size()> byte_shares_;
  double cold_share_;
  const TcpCosts& seconds_;
  std::vector<Stream> streams_;
  std::vector<Rank> ranks_;
  std::vector<Core> cores_;
  int operations_ = 0;        ///< that a rank may enter
  std::vector<Moment> ends_;  ///< of each operation, on the rank that was the last
};

}  // namespace lockstep
