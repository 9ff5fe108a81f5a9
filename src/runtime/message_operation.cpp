#include "runtime/message_operation.h"

#include "base/index.h"
#include "kernels/reduce.h"
#include "runtime/list_bytes.h"

#include <lockstep/error.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

namespace lockstep {

namespace {

/// A contribution is combined once so much of it is there, or all: little pieces are not worth a call.
constexpr std::size_t kWorthwhileBytes = std::size_t{32} << 10;

/// After so long without anything that it waits for, a rank says to its peers what it is in.
constexpr std::chrono::milliseconds kPatience{1000};

/// A slice of a chunk is no smaller, or what each transfer costs beside its bytes would be more than pieces gain.
constexpr std::size_t kLeastSliceBytes = std::size_t{64} << 10;

}  // namespace

MessageOperation::MessageOperation(MessageTransport& transport, Shared& shared, Setup setup)
    : RunningOperation(setup.announcement),
      transport_(transport),
      shared_(shared),
      plan_(std::move(setup.plan)),
      layout_(std::move(setup.layout)),
      dtype_(announcement_.dtype),
      op_(announcement_.op),
      incoming_from_(at(transport.size()), MessagePlan::kNone) {
  const bool only_meets = announcement_.collective == Collective::kBarrier || setup.only_meets;
  if (!only_meets) cut_into_pieces(layout_, plan_->chunks, transport_.piece_bytes());
  if (layout_.pieces() > 1)
    plan_ = std::make_shared<const MessagePlan>(in_pieces(*plan_, static_cast<int>(layout_.pieces())));
  progress_.chunks.resize(at(plan_->chunks));
  progress_.moved.resize(plan_->moves.size());
  progress_.sent.resize(plan_->sends.size());
  if (only_meets) {
    // Whoever has heard from everybody may leave, so there must be something to hear: a byte for each chunk of nothing.
    token_.resize(at(plan_->chunks));
    dtype_ = DataType::kUInt8;
    op_ = ReduceOp::kMax;
  }
  measure_chunks();
  for (const MessagePlan::Stream& stream : plan_->streams) {
    incoming_from_[at(stream.peer)] = static_cast<int>(incoming_.size());
    outgoing_.emplace_back(*plan_, stream, progress_);
    incoming_.emplace_back(*plan_, stream, progress_);
  }
  for (std::size_t move = 0; move < plan_->moves.size(); ++move) {
    const bool combines = plan_->moves[move].kind == TransferKind::kReduce;
    if (combines && progress_.bytes_of(plan_->moves[move].chunk) > 0) reductions_.push_back(static_cast<int>(move));
  }
  needs_.reserve(plan_->streams.size());
  operands_.reserve(at(transport.size()));
}

void MessageOperation::cut_into_pieces(Layout& layout, int chunks, std::size_t piece_bytes) {
  if (piece_bytes > 0) layout.slice(std::max(kLeastSliceBytes, piece_bytes / at(chunks)));
}

std::size_t MessageOperation::bytes_kept() const {
  std::size_t bytes = sizeof *this + layout_.bytes_kept() + bytes_of_lists(token_, needs_) +
                      bytes_of_lists(progress_.chunks, progress_.moved, progress_.sent) +
                      bytes_of_lists(outgoing_, incoming_, incoming_from_, reductions_);
  for (const OutgoingStream& stream : outgoing_) bytes += stream.bytes_kept();
  for (const IncomingStream& stream : incoming_) bytes += stream.bytes_kept();
  const bool has_plan_of_its_own = plan_->pieces > 1;
  return has_plan_of_its_own ? bytes + plan_->bytes_kept() : bytes;
}

void MessageOperation::measure_chunks() {
  for (int chunk = 0; chunk < plan_->chunks; ++chunk) {
    const auto [of_piece, piece] = slice_of(chunk);
    progress_.chunks[at(chunk)].bytes = token_.empty() ? layout_.input(of_piece, piece).count * size_of(dtype_) : 1;
  }
}

void MessageOperation::place_chunks() {
  for (int chunk = 0; chunk < plan_->chunks; ++chunk) {
    ChunkPlace& place = progress_.chunks[at(chunk)];
    if (!token_.empty()) {
      place.input = place.output = &token_[at(chunk)];
      continue;
    }
    const auto [of_piece, piece] = slice_of(chunk);
    // Nothing is ever written to an input that is not the output.
    place.input = place_in(const_cast<void*>(call().input), layout_.input(of_piece, piece).offset_bytes);
    place.output = place_in(call().output, layout_.output(of_piece, piece).offset_bytes);
  }
}

void MessageOperation::enter() {
  transport_.listen();
  shared_.announced.add(announcement_);
  place_chunks();
  std::fill(progress_.moved.begin(), progress_.moved.end(), 0);
  std::fill(progress_.sent.begin(), progress_.sent.end(), 0);
  for (OutgoingStream& stream : outgoing_) stream.begin(announcement_);
  for (IncomingStream& stream : incoming_) stream.begin(shared_.announced);
  open_reduction_ = 0;
  vigil_.begin_anew();
  tells_at_ = Time::max();
  has_told_ = false;
  if (records()) record_empty();
}

bool MessageOperation::go_on() {
  look_again();
  while (true) {
    bool moved = false;
    for (OutgoingStream& stream : outgoing_) moved |= stream.flush(transport_, progress_);
    for (IncomingStream& stream : incoming_) moved |= receive(stream);
    moved |= combine();
    if (complete()) return true;
    if (!moved) return false;
    vigil_.begin_anew();
    if (!transport_.shares_core()) look_again();
  }
}

bool MessageOperation::receive(IncomingStream& stream) {
  const std::size_t before = stream.arrived();
  const bool any = stream.fill(transport_, shared_.buffers[at(stream.peer())], progress_);
  if (records()) record_copies(stream, before);
  return any;
}

void MessageOperation::look_again() {
  for (IncomingStream& stream : incoming_) stream.look_again();
}

bool MessageOperation::complete() const {
  return open_reduction_ == reductions_.size() &&
         std::all_of(outgoing_.begin(), outgoing_.end(),
                     [](const OutgoingStream& stream) { return stream.finished(); }) &&
         std::all_of(incoming_.begin(), incoming_.end(),
                     [](const IncomingStream& stream) { return stream.finished(); });
}

bool MessageOperation::combine() {
  // What has come of pieces further on can wait until they are next.
  const std::size_t moves_of_two_pieces = 2 * plan_->moves.size() / at(plan_->pieces);
  const std::size_t end = std::min(reductions_.size(), open_reduction_ + moves_of_two_pieces);
  bool any = false;
  for (std::size_t i = open_reduction_; i < end; ++i) any |= combine(reductions_[i]);
  while (open_reduction_ < reductions_.size()) {
    const int move = reductions_[open_reduction_];
    if (progress_.moved_by(move) < progress_.bytes_of(plan_->moves[at(move)].chunk)) break;
    ++open_reduction_;
  }
  return any;
}

/// As far as all contributions are there and the old value is needed no more.
bool MessageOperation::combine(int index_of_move) {
  const MessagePlan::Move& move = plan_->moves[at(index_of_move)];
  const std::size_t size = progress_.bytes_of(move.chunk);
  const std::size_t done = progress_.moved_by(index_of_move);
  if (done == size) return false;
  std::size_t ready = size;
  for (const int source : move.sources) {
    ready = std::min(ready, incoming_[at(incoming_from_[at(source)])].arrived_for(index_of_move));
    if (ready <= done) return false;
  }
  ready = std::min(ready, free_to_write(move, progress_));
  ready -= ready % size_of(dtype_);
  if (ready <= done || (ready < size && ready - done < kWorthwhileBytes)) return false;
  combine_piece(index_of_move, done, ready);
  progress_.moved[at(index_of_move)] = ready;
  return true;
}

void MessageOperation::combine_piece(int index_of_move, std::size_t begin, std::size_t end) {
  const MessagePlan::Move& move = plan_->moves[at(index_of_move)];
  const ChunkPlace& place = progress_.chunks[at(move.chunk)];
  const std::byte* const own = move.after_move == MessagePlan::kNone ? place.input : place.output;
  const bool divides = move.finishes && op_ == ReduceOp::kMean;
  while (begin < end) {
    std::size_t bytes = end - begin;
    operands_.clear();
    bool own_is_placed = false;
    for (const int source : move.sources) {
      if (!own_is_placed && source > plan_->rank) {
        operands_.push_back(own + begin);
        own_is_placed = true;
      }
      const IncomingStream& stream = incoming_[at(incoming_from_[at(source)])];
      const auto contribution = stream.contribution(shared_.buffers[at(source)], index_of_move, begin);
      operands_.push_back(contribution.data());
      bytes = std::min(bytes, contribution.size());
    }
    if (!own_is_placed) operands_.push_back(own + begin);
    void* const target = place.output + begin;
    kernels::reduce({.targets = &target,
                     .target_count = 1,
                     .operands = operands_.data(),
                     .operand_count = operands_.size(),
                     .count = bytes / size_of(dtype_),
                     .dtype = dtype_,
                     .op = op_,
                     .divide_by = divides ? plan_->ranks : 1});
    begin += bytes;
  }
  if (records() && begin == progress_.bytes_of(move.chunk)) {
    for (const int source : move.sources) record_transfer(index_of_move, source);
  }
}

void MessageOperation::wait_for_peer_until(Time at_most) {
  if (!CallDeadline::is_over(at_most) && vigil_.stay_awake(transport_.patience())) return;
  find_needs();
  if (tells_at_ == Time::max()) tells_at_ = CallDeadline::Clock::now() + std::min(kPatience, call().timeout / 4);
  const Time at_latest = has_told_ ? at_most : std::min(at_most, tells_at_);
  const bool in_time = transport_.wait(needs_, deadline_.next_look_or(at_latest));
  compare_with_what_was_told();
  if (!in_time && deadline_.has_passed()) throw_late();
  if (!in_time && !has_told_ && CallDeadline::is_over(tells_at_)) tell_the_awaited();
  vigil_.begin_anew();
}

/// An announcement goes where bytes go: who only waits for each other, as the root of a gather and that of a broadcast
/// do, would never hear of it.
void MessageOperation::tell_the_awaited() {
  has_told_ = true;
  static_assert(sizeof announcement_ <= MessageTransport::kMostToldBytes);
  for (const MessageTransport::Need& need : needs_)
    transport_.tell(need.peer, std::as_bytes(std::span(&announcement_, 1)));
}

void MessageOperation::compare_with_what_was_told() const {
  for (int peer = 0; peer < transport_.size(); ++peer) {
    if (peer == plan_->rank) continue;
    const std::span<const std::byte> told = transport_.told_by(peer);
    Announcement theirs;
    if (told.size() != sizeof theirs) continue;
    std::memcpy(&theirs, told.data(), sizeof theirs);
    theirs.algorithm.back() = '\0';
    const Announcement* const ours = shared_.announced.find(theirs.sequence);
    if (ours != nullptr) require_agreement({plan_->rank, *ours}, {peer, theirs}, shared_.announced);
  }
}

void MessageOperation::add_awaited_sockets(std::vector<pollfd>& sockets) {
  find_needs();
  transport_.add_sockets(needs_, sockets);
}

void MessageOperation::answer_peers(std::vector<pollfd>& sockets) {
  transport_.answer(sockets);
  compare_with_what_was_told();
}

/// Of somebody who is about to sleep.
void MessageOperation::find_needs() {
  for (OutgoingStream& stream : outgoing_) stream.announce(transport_);
  needs_.clear();
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    const bool room = outgoing_[i].wants_room();
    const bool bytes = incoming_[i].wants_bytes();
    if (room || bytes) needs_.push_back({outgoing_[i].peer(), room, bytes});
  }
}

/// Of chunks of no bytes, which do not travel.
void MessageOperation::record_empty() const {
  for (std::size_t move = 0; move < plan_->moves.size(); ++move) {
    if (progress_.bytes_of(plan_->moves[move].chunk) > 0) continue;
    for (const int source : plan_->moves[move].sources) record_transfer(static_cast<int>(move), source);
  }
}

/// Those that came since there were so many, into their place; contributions are carried out once they are combined.
void MessageOperation::record_copies(const IncomingStream& stream, std::size_t since) const {
  for (std::size_t i = since; i < stream.arrived(); ++i) {
    const int move = stream.move_of_arrival(i);
    if (plan_->moves[at(move)].kind == TransferKind::kCopy) record_transfer(move, stream.peer());
  }
}

void MessageOperation::record_transfer(int index_of_move, int source) const {
  // Those of the first piece are the schedule's; the others do the same to theirs.
  if (at(index_of_move) >= plan_->moves.size() / at(plan_->pieces)) return;
  const MessagePlan::Move& move = plan_->moves[at(index_of_move)];
  record({move.step, {move.kind, move.chunk, source, plan_->rank}});
}

void MessageOperation::throw_late() {
  // Most who wait do so for one that waits itself. Where the idle ones are strangers here, their partners know more.
  std::vector<int> idle = transport_.idle_peers();
  const auto is_known = [&](int peer) { return incoming_from_[at(peer)] != MessagePlan::kNone; };
  if (std::none_of(idle.begin(), idle.end(), is_known)) idle = transport_.idle_peers();
  std::vector<int> absent;
  std::vector<int> slow;
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    const bool is_needed = incoming_[i].wants_bytes() || outgoing_[i].wants_room();
    const int peer = incoming_[i].peer();
    if (!idle.empty() && std::find(idle.begin(), idle.end(), peer) == idle.end()) continue;
    if (incoming_[i].wants_bytes() && !incoming_[i].entered()) absent.push_back(peer);
    if (is_needed) slow.push_back(peer);
  }
  if (!absent.empty()) RunningOperation::throw_late(plan_->rank, absent, kDidNotCome);
  if (!slow.empty()) RunningOperation::throw_late(plan_->rank, slow, kWentNoFurther);
  RunningOperation::throw_late(plan_->rank, idle, kGaveNoAnswer);
}

}  // namespace lockstep
