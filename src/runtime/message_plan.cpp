#include "runtime/message_plan.h"

#include "runtime/list_bytes.h"
#include "runtime/plan_pieces.h"
#include "schedule/view.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {

namespace {

bool by_chunk(const Transfer& a, const Transfer& b) { return a.chunk < b.chunk; }

/// Makes the plan step by step, knowing of each chunk who wrote its present value and who reads it.
class Planner {
 public:
  Planner(const Schedule& schedule, int rank)
      : view_(view_of(schedule, rank)),
        finishing_(finishing_steps(view_)),
        last_move_(static_cast<std::size_t>(view_.chunks), MessagePlan::kNone),
        readers_(static_cast<std::size_t>(view_.chunks)) {
    plan_.algorithm = schedule.name;
    plan_.rank = rank;
    plan_.ranks = view_.ranks;
    plan_.chunks = view_.chunks;
  }

  MessagePlan take() {
    for (std::size_t step = 0; step < view_.steps.size(); ++step) {
      RankView::Step& at = view_.steps[step];
      // Both ends of a stream order it alike, whatever the schedule's text says. All ranks' transfers then have one
      // order, in which the first that is not complete can always go on, however little room there is for those after
      // it.
      std::stable_sort(at.sends.begin(), at.sends.end(), by_chunk);
      std::stable_sort(at.receives.begin(), at.receives.end(), by_chunk);
      add_sends(static_cast<int>(step), at.sends);
      add_moves(static_cast<int>(step), at.receives);
    }
    for (auto& [peer, stream] : streams_) plan_.streams.push_back(std::move(stream));
    return std::move(plan_);
  }

 private:
  MessagePlan::Stream& stream_with(int peer) {
    MessagePlan::Stream& stream = streams_[peer];
    stream.peer = peer;
    return stream;
  }

  void add_sends(int step, const std::vector<Transfer>& sends) {
    for (const Transfer& transfer : sends) {
      const auto chunk = static_cast<std::size_t>(transfer.chunk);
      const int index = static_cast<int>(plan_.sends.size());
      plan_.sends.push_back({step, transfer.chunk, transfer.to, last_move_[chunk]});
      stream_with(transfer.to).sends.push_back(index);
      readers_[chunk].push_back(index);
    }
  }

  /// After the step's sends, which read what the chunks held when it began.
  void add_moves(int step, const std::vector<Transfer>& receives) {
    for (Intake& intake : intakes_of(receives)) {
      const auto chunk = static_cast<std::size_t>(intake.chunk);
      const int index = static_cast<int>(plan_.moves.size());
      std::sort(intake.sources.begin(), intake.sources.end());
      for (std::size_t i = 0; i < intake.sources.size(); ++i) {
        stream_with(intake.sources[i]).arrivals.push_back({index, i});
      }
      plan_.moves.push_back({.step = step,
                             .kind = intake.kind,
                             .chunk = intake.chunk,
                             .sources = std::move(intake.sources),
                             .finishes = finishing_[chunk] == step,
                             .after_move = last_move_[chunk],
                             .after_sends = std::exchange(readers_[chunk], {})});
      last_move_[chunk] = index;
    }
  }

  RankView view_;
  std::vector<int> finishing_;
  std::vector<int> last_move_;             ///< by chunk
  std::vector<std::vector<int>> readers_;  ///< by chunk: sends of its present value
  std::map<int, MessagePlan::Stream> streams_;
  MessagePlan plan_;
};

/// Adds a piece that comes behind those that are there.
void append_piece(MessagePlan& all, const MessagePlan& one) {
  const int moves = static_cast<int>(all.moves.size());
  const int sends = static_cast<int>(all.sends.size());
  const auto in_its_piece = [&](int move) { return move == MessagePlan::kNone ? move : move + moves; };
  for (MessagePlan::Move move : one.moves) {
    move.chunk += all.chunks;
    move.after_move = in_its_piece(move.after_move);
    for (int& send : move.after_sends) send += sends;
    all.moves.push_back(std::move(move));
  }
  for (MessagePlan::Send send : one.sends) {
    send.chunk += all.chunks;
    send.after_move = in_its_piece(send.after_move);
    all.sends.push_back(send);
  }
  for (std::size_t i = 0; i < one.streams.size(); ++i) {
    MessagePlan::Stream& stream = all.streams[i];
    for (const int send : one.streams[i].sends) stream.sends.push_back(send + sends);
    for (const auto& arrival : one.streams[i].arrivals)
      stream.arrivals.push_back({arrival.move + moves, arrival.source});
  }
  all.chunks += one.chunks;
  ++all.pieces;
}

}  // namespace

MessagePlan make_message_plan(const Schedule& schedule, int rank) { return Planner(schedule, rank).take(); }

std::size_t MessagePlan::bytes_kept() const {
  std::size_t bytes = bytes_of_lists(moves, sends, streams);
  for (const Move& move : moves) bytes += bytes_of_lists(move.sources, move.after_sends);
  for (const Stream& stream : streams) bytes += bytes_of_lists(stream.sends, stream.arrivals);
  return bytes;
}

MessagePlan in_pieces(const MessagePlan& one, int pieces) {
  MessagePlan all = one;
  while (all.pieces < pieces) append_piece(all, one);
  return all;
}

}  // namespace lockstep
