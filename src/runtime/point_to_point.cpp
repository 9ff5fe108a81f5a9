#include "runtime/point_to_point.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace lockstep {

PointToPoint::PointToPoint(ByteStreams& streams, int rank, int size) : streams_(streams), rank_(rank) {
  lanes_.resize(2 * static_cast<std::size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    for (const Direction direction : {Direction::kSend, Direction::kReceive}) {
      Lane& lane = lanes_[index_of(direction, peer)];
      lane.direction = direction;
      lane.peer = peer;
    }
  }
  needs_.reserve(lanes_.size());
}

std::size_t PointToPoint::index_of(Direction direction, int peer) {
  return 2 * static_cast<std::size_t>(peer) + (direction == Direction::kReceive ? 1 : 0);
}

PointToPoint::Header PointToPoint::header_of(const Buffer& buffer) {
  return {.count = buffer.count, .dtype = static_cast<std::uint64_t>(buffer.dtype)};
}

PointToPoint::Ticket PointToPoint::start(const Message& message) {
  const std::size_t index = index_of(message.direction, message.peer);
  Lane& lane = lanes_[index];
  Queued& queued = lane.queue.next();
  queued.buffer = message.buffer;
  queued.number = lane.started + 1;
  queued.purpose = message.purpose;
  queued.timeout = message.timeout;
  queued.deadline.start(message.timeout);
  lane.queue.push();
  ++lane.started;
  ++under_way_;
  return Ticket{index} << kNumberBits | queued.number;
}

bool PointToPoint::is_complete(Ticket ticket) const { return number_of(ticket) <= lane_of(ticket).completed; }

void PointToPoint::advance() {
  for (bool moved = under_way_ > 0; moved;) {
    moved = false;
    for (Lane& lane : lanes_) moved |= !lane.queue.empty() && advance(lane);
    if (moved) vigil_.begin_anew();
  }
}

/// Moves the first message of the lane as far as it goes; whether anything moved.
bool PointToPoint::advance(Lane& lane) {
  const Queued& first = lane.queue.front();
  at_lane_ = &lane;
  at_ = &first;
  const bool receives = lane.direction == Direction::kReceive;
  if (!receives && lane.moved == 0) lane.header = header_of(first.buffer);
  const std::size_t before = lane.moved;
  lane.moved += move(lane);
  if (lane.moved == before) return false;
  if (receives && before < sizeof(Header) && lane.moved >= sizeof(Header)) check_header(lane);
  if (lane.moved == bytes_of(lane)) {
    lane.completed = first.number;
    lane.moved = 0;
    lane.queue.pop();
    --under_way_;
  }
  return true;
}

std::size_t PointToPoint::move(Lane& lane) {
  const Buffer& buffer = lane.queue.front().buffer;
  const std::size_t of_header = std::min(lane.moved, sizeof(Header));
  const std::size_t of_data = lane.moved - of_header;
  // If the peer sends something else than is expected, what comes ends at the end of the buffer all the same.
  const std::array<iovec, 2> rest{
      iovec{reinterpret_cast<std::byte*>(&lane.header) + of_header, sizeof(Header) - of_header},
      iovec{static_cast<std::byte*>(buffer.data) + of_data, buffer.bytes() - of_data}};
  const std::span<const iovec> spans = std::span(rest).subspan(of_header == sizeof(Header) ? 1 : 0);
  return lane.direction == Direction::kSend ? streams_.send(lane.peer, spans) : streams_.receive(lane.peer, spans);
}

void PointToPoint::check_header(Lane& lane) const {
  const Buffer& own = lane.queue.front().buffer;
  const Header expected = header_of(own);
  const Header& theirs = lane.header;
  if (theirs.count == expected.count && theirs.dtype == expected.dtype) return;
  throw Error(
      ErrorCode::kMismatch,
      fmt::format("rank {} receives {} {} where rank {} sends {} {}; both must say the same", rank_, own.count,
                  to_string(own.dtype), lane.peer, theirs.count, to_string(static_cast<DataType>(theirs.dtype))),
      {.rank = rank_, .peer = lane.peer});
}

void PointToPoint::wait_for(Ticket ticket, Time at_most) {
  if (vigil_.stay_awake(streams_.patience())) return;
  find_needs();
  Lane& lane = lane_of(ticket);
  Queued& awaited = *std::find_if(lane.queue.begin(), lane.queue.end(),
                                  [&](const Queued& queued) { return queued.number == number_of(ticket); });
  at_lane_ = &lane;
  at_ = &awaited;
  const bool in_time = streams_.wait(needs_, awaited.deadline.next_look_or(at_most));
  if (!in_time && awaited.deadline.has_passed()) throw_late();
  vigil_.begin_anew();
}

void PointToPoint::look_for_trouble() {
  find_needs();
  streams_.wait(needs_, std::chrono::steady_clock::now());
  for (Lane& lane : lanes_) {
    if (lane.queue.empty() || !lane.queue.front().deadline.has_passed()) continue;
    at_lane_ = &lane;
    at_ = &lane.queue.front();
    throw_late();
  }
}

void PointToPoint::add_awaited_sockets(std::vector<pollfd>& sockets) {
  find_needs();
  streams_.add_sockets(needs_, sockets);
}

std::uint64_t PointToPoint::least_bytes_left() const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Lane& lane : lanes_) {
    if (!lane.queue.empty()) least = std::min<std::uint64_t>(least, bytes_of(lane) - lane.moved);
  }
  return least;
}

void PointToPoint::find_needs() {
  needs_.clear();
  for (const Lane& lane : lanes_) {
    if (lane.queue.empty()) continue;
    const bool sends = lane.direction == Direction::kSend;
    needs_.push_back({.peer = lane.peer, .room = sends, .bytes = !sends});
  }
}

void PointToPoint::throw_late() const {
  const double seconds = static_cast<double>(at_->timeout.count()) / 1000;
  const bool sends = at_lane_->direction == Direction::kSend;
  throw Error(ErrorCode::kTimeout,
              fmt::format("rank {} waited {} s for rank {}, which did not {} it", rank_, seconds, at_lane_->peer,
                          to_string(sends ? Direction::kReceive : Direction::kSend)),
              {.rank = rank_, .peer = at_lane_->peer});
}

ErrorScene PointToPoint::scene(std::string group) const {
  const bool sends = at_lane_->direction == Direction::kSend;
  return {.rank = rank_,
          .group = std::move(group),
          .operation = std::string(to_string(at_lane_->direction)),
          .detail = fmt::format(" {} rank {}", sends ? "to" : "from", at_lane_->peer),
          .sequence = at_->number,
          .purpose = at_->purpose};
}

std::string_view to_string(PointToPoint::Direction direction) {
  return direction == PointToPoint::Direction::kSend ? "send" : "receive";
}

}  // namespace lockstep
