#pragma once

#include "runtime/announced.h"
#include "runtime/layout.h"
#include "runtime/message_plan.h"
#include "runtime/message_streams.h"
#include "runtime/running_operation.h"
#include "runtime/vigil.h"
#include "transport/message_transport.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

/// A collective over a transport that shows no memory: each rank sends its part of the schedule and takes in what is
/// meant for it, from and to the caller's memory. All transfers whose bytes are there are under way at once; what
/// arrives is combined while the rest arrives, and sent on while it is combined. A large buffer goes through the
/// schedule in pieces where the transport asks for that.
class MessageOperation final : public RunningOperation {
 public:
  struct Setup {
    std::shared_ptr<const MessagePlan> plan;
    Announcement announcement;  ///< but for the sequence
    Layout layout;
    bool only_meets = false;  ///< moves nothing of the buffers: the schedule is a barrier's
  };
  /// What the operations of a group share, since one at a time is between begin and the end.
  struct Shared {
    explicit Shared(int ranks) : buffers(static_cast<std::size_t>(ranks)) {}
    std::vector<ReceiveBuffer> buffers;  ///< a circular one for each peer
    Announced announced;
  };

  /// `shared` outlives the operation.
  MessageOperation(MessageTransport& transport, Shared& shared, Setup setup);

  /// Cuts the layout of so many chunks into pieces as operations do over a transport with that piece_bytes().
  static void cut_into_pieces(Layout& layout, int chunks, std::size_t piece_bytes);

  void wait_for_peer_until(Time at_most) override;
  void add_awaited_sockets(std::vector<pollfd>& sockets) override;
  void answer_peers(std::vector<pollfd>& sockets) override;
  int pieces() const override { return plan_->pieces; }
  std::size_t bytes_kept() const override;

 private:
  void enter() override;
  bool go_on() override;
  void look_again();
  /// Which chunk of which piece the plan calls that.
  std::pair<int, std::size_t> slice_of(int chunk) const {
    const int of_piece = plan_->chunks / plan_->pieces;
    return {chunk % of_piece, static_cast<std::size_t>(chunk / of_piece)};
  }
  void measure_chunks();
  void place_chunks();
  bool receive(IncomingStream& stream);
  bool combine();
  bool combine(int move);
  void combine_piece(int move, std::size_t begin, std::size_t end);
  bool complete() const;
  void find_needs();
  void tell_the_awaited();
  /// Also what peers told that are still in an operation which this rank has left.
  void compare_with_what_was_told() const;
  void record_empty() const;
  void record_copies(const IncomingStream& stream, std::size_t since) const;
  void record_transfer(int move, int source) const;
  [[noreturn]] void throw_late();

  MessageTransport& transport_;
  Shared& shared_;
  std::shared_ptr<const MessagePlan> plan_;
  Layout layout_;
  DataType dtype_;
  ReduceOp op_;

  MessageProgress progress_;
  std::vector<OutgoingStream> outgoing_;
  std::vector<IncomingStream> incoming_;
  std::vector<int> incoming_from_;  ///< by rank: its stream
  std::vector<int> reductions_;     ///< moves that combine something
  std::size_t open_reduction_ = 0;  ///< all before it are done
  Vigil vigil_;                     ///< since something moved
  Time tells_at_ = Time::max();     ///< its peers what it waits for them in; known from the first wait on
  bool has_told_ = false;
  std::vector<std::byte> token_;  ///< what a barrier moves
  std::vector<const void*> operands_;
  std::vector<MessageTransport::Need> needs_;
};

}  // namespace lockstep
