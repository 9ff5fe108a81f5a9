#include "runtime/message_streams.h"

#include "runtime/disagreement.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <string>

namespace lockstep {

namespace {

/// Spans in one call of the system: enough that its price does not matter.
constexpr std::size_t kSpans = 16;

iovec span_of(const void* data, std::size_t bytes) { return {const_cast<void*>(data), bytes}; }

}  // namespace

std::size_t free_to_write(const MessagePlan::Move& move, const MessageProgress& progress) {
  const ChunkPlace& place = progress.chunks[static_cast<std::size_t>(move.chunk)];
  if (move.after_move == MessagePlan::kNone && place.input != place.output) return place.bytes;
  std::size_t bytes = move.after_move == MessagePlan::kNone ? place.bytes : progress.moved_by(move.after_move);
  for (const int send : move.after_sends) bytes = std::min(bytes, progress.sent[static_cast<std::size_t>(send)]);
  return bytes;
}

std::byte* ReceiveBuffer::data() {
  if (!data_) data_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
  return data_.get();
}

OutgoingStream::OutgoingStream(const MessagePlan& plan, const MessagePlan::Stream& stream,
                               const MessageProgress& layout)
    : plan_(&plan), peer_(stream.peer), used_(!stream.sends.empty()) {
  for (const int send : stream.sends) {
    if (layout.bytes_of(plan.sends[static_cast<std::size_t>(send)].chunk) > 0) sends_.push_back(send);
  }
  spans_.reserve(kSpans);
}

void OutgoingStream::begin(const Announcement& announcement) {
  announcement_ = announcement;
  announced_ = 0;
  at_ = 0;
  wants_room_ = false;
}

bool OutgoingStream::flush(MessageTransport& transport, MessageProgress& progress) {
  wants_room_ = false;
  if (finished()) return false;
  spans_.clear();
  std::size_t bytes = 0;
  if (!has_announced()) {
    spans_.push_back(rest_of_announcement());
    bytes = spans_.back().iov_len;
  }
  bool has_payload = sends_.empty();
  for (std::size_t i = at_; i < sends_.size() && spans_.size() < kSpans && bytes < kMessageBytesAtOnce; ++i) {
    const MessagePlan::Send& send = plan_->sends[static_cast<std::size_t>(sends_[i])];
    const ChunkPlace& place = progress.chunks[static_cast<std::size_t>(send.chunk)];
    const bool from_start = send.after_move == MessagePlan::kNone;
    const std::size_t ready = from_start ? place.bytes : progress.moved_by(send.after_move);
    const std::size_t sent = progress.sent[static_cast<std::size_t>(sends_[i])];
    const std::size_t now = std::min(ready - sent, kMessageBytesAtOnce - bytes);
    if (now > 0) spans_.push_back(span_of((from_start ? place.input : place.output) + sent, now));
    bytes += now;
    has_payload = has_payload || now > 0;
    if (sent + now < place.bytes) break;
  }
  // An announcement travels with the first of what it announces.
  if (!has_payload || bytes == 0) return false;
  const std::size_t went = transport.send(peer_, spans_);
  wants_room_ = went < bytes;
  note_sent(went, progress);
  return went > 0;
}

iovec OutgoingStream::rest_of_announcement() const {
  return span_of(reinterpret_cast<const std::byte*>(&announcement_) + announced_, sizeof announcement_ - announced_);
}

void OutgoingStream::announce(MessageTransport& transport) {
  if (has_announced()) return;
  spans_.assign(1, rest_of_announcement());
  announced_ += transport.send(peer_, spans_);
}

void OutgoingStream::note_sent(std::size_t bytes, MessageProgress& progress) {
  if (!has_announced()) {
    const std::size_t of_announcement = std::min(bytes, sizeof announcement_ - announced_);
    announced_ += of_announcement;
    bytes -= of_announcement;
  }
  while (bytes > 0) {
    const auto send = static_cast<std::size_t>(sends_[at_]);
    const std::size_t size = progress.bytes_of(plan_->sends[send].chunk);
    const std::size_t now = std::min(bytes, size - progress.sent[send]);
    progress.sent[send] += now;
    bytes -= now;
    if (progress.sent[send] == size) ++at_;
  }
}

IncomingStream::IncomingStream(const MessagePlan& plan, const MessagePlan::Stream& stream,
                               const MessageProgress& layout)
    : plan_(&plan),
      peer_(stream.peer),
      used_(!stream.arrivals.empty()),
      arrival_of_move_(plan.moves.size(), MessagePlan::kNone) {
  std::size_t buffer_bytes = 0;
  for (const MessagePlan::Arrival& arrival : stream.arrivals) {
    const MessagePlan::Move& move = plan.moves[static_cast<std::size_t>(arrival.move)];
    const std::size_t bytes = layout.bytes_of(move.chunk);
    if (bytes == 0) continue;
    const bool combined = move.kind == TransferKind::kReduce;
    arrival_of_move_[static_cast<std::size_t>(arrival.move)] = static_cast<int>(arrivals_.size());
    arrivals_.push_back({arrival.move, combined, bytes, buffer_bytes});
    if (combined) buffer_bytes += bytes;
  }
  spans_.reserve(kSpans + 2);
}

void IncomingStream::begin(const Announced& own) {
  own_ = &own;
  announced_ = 0;
  at_ = 0;
  received_ = 0;
  oldest_ = 0;
  wants_bytes_ = false;
}

bool IncomingStream::fill(MessageTransport& transport, ReceiveBuffer& buffer, MessageProgress& progress) {
  wants_bytes_ = false;
  if (finished()) return false;
  spans_.clear();
  std::size_t asked = 0;
  if (!entered()) {
    asked = sizeof theirs_ - announced_;
    spans_.push_back(span_of(reinterpret_cast<std::byte*>(&theirs_) + announced_, asked));
  }
  std::size_t from = received_;
  std::size_t bytes = 0;
  for (std::size_t i = at_; i < arrivals_.size() && spans_.size() < kSpans && bytes < kMessageBytesAtOnce;
       ++i, from = 0) {
    const std::size_t covered = add_spans_for(arrivals_[i], from, buffer, progress);
    bytes += covered;
    if (from + covered < arrivals_[i].bytes) break;
  }
  if (spans_.empty()) return false;
  wants_bytes_ = true;
  if (is_drained_) return false;
  const std::size_t came = transport.receive(peer_, spans_);
  if (came > 0) note_received(came, progress);
  is_drained_ = came == 0 || (came < asked + bytes && received_ == 0);
  return came > 0;
}

std::size_t IncomingStream::add_spans_for(const Arrival& arrival, std::size_t from, ReceiveBuffer& buffer,
                                          const MessageProgress& progress) {
  const MessagePlan::Move& move = plan_->moves[static_cast<std::size_t>(arrival.move)];
  if (!arrival.combined) {
    const std::size_t free = free_to_write(move, progress);
    if (free <= from) return 0;
    const std::size_t covered = std::min(free - from, kMessageBytesAtOnce);
    spans_.push_back(span_of(progress.chunks[static_cast<std::size_t>(move.chunk)].output + from, covered));
    return covered;
  }
  const std::size_t begin = arrival.buffer_begin + from;
  const std::size_t covered = std::min(arrival.bytes - from, buffer_freed(progress) + ReceiveBuffer::kBytes - begin);
  if (covered == 0) return 0;
  const std::size_t place = begin % ReceiveBuffer::kBytes;
  const std::size_t first = std::min(covered, ReceiveBuffer::kBytes - place);
  spans_.push_back(span_of(buffer.data() + place, first));
  if (covered > first) spans_.push_back(span_of(buffer.data(), covered - first));
  return covered;
}

/// Up to where, of all that goes through the buffer, everything has been combined.
std::size_t IncomingStream::buffer_freed(const MessageProgress& progress) {
  while (oldest_ < arrivals_.size()) {
    const Arrival& arrival = arrivals_[oldest_];
    const std::size_t moved = arrival.combined ? progress.moved_by(arrival.move) : arrival.bytes;
    if (moved < arrival.bytes) return arrival.buffer_begin + moved;
    ++oldest_;
  }
  return arrivals_.empty() ? 0
                           : arrivals_.back().buffer_begin + (arrivals_.back().combined ? arrivals_.back().bytes : 0);
}

void IncomingStream::note_received(std::size_t bytes, MessageProgress& progress) {
  if (!entered()) {
    const std::size_t of_announcement = std::min(bytes, sizeof theirs_ - announced_);
    announced_ += of_announcement;
    bytes -= of_announcement;
    if (!entered()) return;
    theirs_.algorithm.back() = '\0';
    require_agreement({plan_->rank, own_->latest()}, {peer_, theirs_}, *own_);
  }
  while (bytes > 0) {
    const Arrival& arrival = arrivals_[at_];
    const std::size_t now = std::min(bytes, arrival.bytes - received_);
    received_ += now;
    bytes -= now;
    if (!arrival.combined) progress.moved[static_cast<std::size_t>(arrival.move)] = received_;
    if (received_ < arrival.bytes) return;
    ++at_;
    received_ = 0;
  }
}

void require_agreement(const RankAnnouncement& own, const RankAnnouncement& theirs, const Announced& own_past) {
  const auto& [own_rank, ours] = own;
  const auto& [peer, other] = theirs;
  if (other.sequence == ours.sequence && other.fingerprint == ours.fingerprint) return;
  const auto& [first_rank, first] = own_rank < peer ? own : theirs;
  const auto& [second_rank, second] = own_rank < peer ? theirs : own;
  if (first.sequence == second.sequence && first.describe() == second.describe()) {
    const std::string both = fmt::format("ranks {}, {}: {}", first_rank, second_rank, first.describe());
    const std::uint64_t earlier = disagreed_before(first, second).value_or(0);
    const Announcement* const asked = own_past.find(earlier);
    if (earlier == 0 || asked == nullptr) {
      throw Error(ErrorCode::kMismatch, fmt::format(kDisagreedBefore, both), {.rank = own_rank});
    }
    throw Error(ErrorCode::kMismatch,
                fmt::format("the ranks disagree about what #{} before it was (rank {}: {}; rank {}: something else)",
                            earlier, own_rank, asked->describe(), peer),
                {.rank = own_rank});
  }
  throw Error(
      ErrorCode::kMismatch,
      fmt::format("the ranks disagree about what it is (rank {}: {}, its #{}; rank {}: {}, its #{})", first_rank,
                  first.describe(), first.sequence, second_rank, second.describe(), second.sequence),
      {.rank = own_rank});
}

std::size_t IncomingStream::arrived_for(int move) const {
  const int index = arrival_of_move_[static_cast<std::size_t>(move)];
  const auto arrival = static_cast<std::size_t>(index);
  if (arrival < at_) return arrivals_[arrival].bytes;
  return arrival == at_ ? received_ : 0;
}

std::span<const std::byte> IncomingStream::contribution(ReceiveBuffer& buffer, int move, std::size_t offset) const {
  const auto index = static_cast<std::size_t>(arrival_of_move_[static_cast<std::size_t>(move)]);
  const std::size_t place = (arrivals_[index].buffer_begin + offset) % ReceiveBuffer::kBytes;
  return {buffer.data() + place, ReceiveBuffer::kBytes - place};
}

}  // namespace lockstep
