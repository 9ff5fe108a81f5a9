#include "planner/one_host/tcp_turns.h"

#include "base/index.h"
#include "runtime/message_streams.h"
#include "topology/dealing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

namespace lockstep {

namespace {

constexpr auto kBytesAtOnce = static_cast<double>(kMessageBytesAtOnce);

/// So many operations a rank may be ahead of its receiver: fewer than sockets hold, so that all fall into step soon.
constexpr long kAhead = 2;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// How much each of the sizes counts for a buffer of so many bytes; 1 in all.
std::array<double, TcpCost::kSizes.size()> shares_of_sizes(double bytes) {
  const auto& sizes = TcpCost::kSizes;
  std::array<double, TcpCost::kSizes.size()> shares{};
  const double size = std::clamp(bytes, sizes.front(), sizes.back());
  const auto above = static_cast<std::size_t>(
      std::distance(sizes.begin(), std::lower_bound(std::next(sizes.begin()), sizes.end(), size)));
  const double share = std::log(size / sizes[above - 1]) / std::log(sizes[above] / sizes[above - 1]);
  shares[above] = share;
  shares[above - 1] = 1 - share;
  return shares;
}

}  // namespace

TcpTurns::TcpTurns(const std::vector<MessagePlan>& plans, std::vector<double> chunk_bytes, const Host& host,
                   const TcpCosts& seconds)
    : plans_(plans),
      chunk_bytes_(std::move(chunk_bytes)),
      host_(host),
      byte_shares_(shares_of_sizes(host.bytes_at_once)),
      cold_share_(shares_of_sizes(host.bytes).back()),
      seconds_(seconds),
      ranks_(plans.size()),
      cores_(at(host.cores)) {
  for (int core = 0; core < host.cores; ++core) cores_[at(core)].current = first_on_core(core);
  lay_streams();
  for (int rank = 0; rank < count(); ++rank) note_arrivals(rank);
}

/// What one end sends, the other takes in, in the same order.
void TcpTurns::lay_streams() {
  std::map<std::pair<int, int>, std::size_t> by_ends;
  const auto stream_between = [&](int from, int to) -> std::size_t {
    const auto [place, is_new] = by_ends.try_emplace({from, to}, streams_.size());
    if (is_new) {
      streams_.push_back({.from = from, .to = to, .items = {}, .under_way = {}});
      ranks_[at(from)].outgoing.push_back(place->second);
      ranks_[at(to)].incoming.push_back(place->second);
    }
    return place->second;
  };
  for (int rank = 0; rank < count(); ++rank) {
    const MessagePlan& plan = plans_[at(rank)];
    ranks_[at(rank)].seats.resize(plan.sends.size());
    for (const MessagePlan::Stream& stream : plan.streams) {
      for (const int send : stream.sends) {
        const std::size_t index = stream_between(rank, stream.peer);
        if (chunk_bytes_[at(plan.sends[at(send)].chunk)] == 0) continue;
        ranks_[at(rank)].seats[at(send)] = Seat{index, streams_[index].items.size()};
        streams_[index].items.push_back({.send = send});
      }
    }
  }
  for (Stream& stream : streams_) {
    if (stream.items.empty()) stream.items.emplace_back();
  }
}

void TcpTurns::note_arrivals(int number) {
  const MessagePlan& plan = plans_[at(number)];
  Rank& rank = ranks_[at(number)];
  rank.moved.resize(plan.moves.size());
  std::vector<Reduction> reductions(plan.moves.size());
  for (const std::size_t index : rank.incoming) {
    Stream& stream = streams_[index];
    const auto mirrored = std::find_if(plan.streams.begin(), plan.streams.end(),
                                       [&](const MessagePlan::Stream& one) { return one.peer == stream.from; });
    std::size_t item = 0;
    for (const MessagePlan::Arrival& arrival : mirrored->arrivals) {
      if (chunk_bytes_[at(plan.moves[at(arrival.move)].chunk)] == 0) continue;
      reductions[at(arrival.move)].arrivals.push_back({index, item});
      stream.items[item++].move = arrival.move;
    }
  }
  for (int move = 0; move < static_cast<int>(plan.moves.size()); ++move) {
    Reduction& reduction = reductions[at(move)];
    if (plan.moves[at(move)].kind != TransferKind::kReduce || reduction.arrivals.empty()) continue;
    reduction.move = move;
    rank.reductions.push_back(std::move(reduction));
  }
}

TcpCosts TcpTurns::run(const Length& length) {
  const auto until = [this](int over, int operations) { run_until(over, operations); };
  return cost_of(length, ends_, until, [this] { return meet(); });
}

/// Until so many operations are over on all ranks, which enter no more than `operations`.
void TcpTurns::run_until(int over, int operations) {
  operations_ = operations;
  const auto is_over = [&](const Rank& rank) { return rank.operation >= over; };
  while (!std::all_of(ranks_.begin(), ranks_.end(), is_over)) {
    int first = 0;
    double earliest = kNever;
    for (int core = 0; core < host_.cores; ++core) {
      const double time = next_time(core);
      if (time < earliest) first = core;
      earliest = std::min(earliest, time);
    }
    if (earliest == kNever) throw std::logic_error("nobody can go on");
    step(first);
  }
}

/// All cores go on from where the last one is, each with its first rank.
TcpTurns::Moment TcpTurns::meet() {
  const Moment last = latest(cores_);
  for (int core = 0; core < host_.cores; ++core) cores_[at(core)] = {.now = last, .current = first_on_core(core)};
  for (Rank& rank : ranks_) rank.is_waiting = false;
  return last;
}

int TcpTurns::core_of(int rank) const { return share_of(rank, count(), host_.cores); }
int TcpTurns::first_on_core(int core) const { return first_on(core, count(), host_.cores); }

/// Parts of a stream before the operation that the rank is in.
long TcpTurns::begun(const Stream& stream, int rank) const { return ranks_[at(rank)].operation * parts_of(stream); }

/// Of that item in the operation that the rank is in, where so many parts are done since the first.
int TcpTurns::done_of(const Stream& stream, long done, std::size_t item, int rank) const {
  const long before = begun(stream, rank) + static_cast<long>(item) * host_.parts;
  return static_cast<int>(std::clamp<long>(done - before, 0, host_.parts));
}

/// Whether its sender can send the next part.
bool TcpTurns::is_ready(const Stream& stream) const {
  const long done = stream.sent - begun(stream, stream.from);
  if (done == parts_of(stream) || stream.sent - stream.received == kAhead * parts_of(stream)) return false;
  const int send = stream.items[static_cast<std::size_t>(done / host_.parts)].send;
  if (send == MessagePlan::kNone) return true;
  const int after_move = plans_[at(stream.from)].sends[at(send)].after_move;
  return after_move == MessagePlan::kNone || ranks_[at(stream.from)].moved[at(after_move)] > done % host_.parts;
}

/// Whether its receiver takes the next part, once that is there.
bool TcpTurns::is_wanted(const Stream& stream) const {
  const long done = stream.received - begun(stream, stream.to);
  if (done == parts_of(stream)) return false;
  const int move = stream.items[static_cast<std::size_t>(done / host_.parts)].move;
  if (move == MessagePlan::kNone || plans_[at(stream.to)].moves[at(move)].kind == TransferKind::kReduce) return true;
  return free_to_write(stream.to, move) > done % host_.parts;
}

/// Parts of a move's chunk that it may overwrite.
int TcpTurns::free_to_write(int number, int index) const {
  const Rank& rank = ranks_[at(number)];
  const MessagePlan::Move& move = plans_[at(number)].moves[at(index)];
  int parts = move.after_move == MessagePlan::kNone ? host_.parts : rank.moved[at(move.after_move)];
  for (const int send : move.after_sends) {
    const auto& seat = rank.seats[at(send)];
    if (!seat) continue;
    const Stream& stream = streams_[seat->stream];
    parts = std::min(parts, done_of(stream, stream.sent, seat->item, number));
  }
  return parts;
}

/// When there is something to do for a rank that waits: something that it wants was sent, or there is room again for
/// what it sends. Nothing if there is not.
std::optional<TcpTurns::Moment> TcpTurns::woken(int rank) const {
  if (ranks_[at(rank)].operation == operations_) return std::nullopt;
  const Moment* first = nullptr;
  const auto consider = [&](const Moment& since) {
    if (first == nullptr || since.seconds < first->seconds) first = &since;
  };
  for (const std::size_t index : ranks_[at(rank)].incoming) {
    const Stream& stream = streams_[index];
    if (!stream.under_way.empty() && is_wanted(stream)) consider(stream.under_way.front());
  }
  for (const std::size_t index : ranks_[at(rank)].outgoing) {
    if (is_ready(streams_[index])) consider(streams_[index].taken);
  }
  return first == nullptr ? std::nullopt : std::optional(*first);
}

void TcpTurns::spend(Core& core, std::size_t cost, double amount) { core.now.spend(cost, amount, seconds_); }

/// Half of what a byte costs: its sender's or its receiver's.
void TcpTurns::spend_bytes(Core& core, double bytes, bool are_cold) {
  for (std::size_t size = 0; size < byte_shares_.size(); ++size) {
    spend(core, TcpCost::kByte + size, 0.5 * bytes * byte_shares_[size]);
  }
  if (are_cold) spend(core, TcpCost::kColdByte, 0.5 * bytes * cold_share_);
  const double contended = 0.5 * bytes * contention(core);
  spend(core, TcpCost::kContendedByte, contended * (byte_shares_[0] + byte_shares_[1]));
  spend(core, TcpCost::kContendedColdByte, contended * cold_share_);
}

/// How many of the other cores are busy while this one is where it is; 1 if all are.
double TcpTurns::contention(const Core& core) const {
  return share_of_others(cores_, core,
                         [&](const Core& other) { return !other.is_idle || other.now.seconds > core.now.seconds; });
}

/// Of the core; an idle one waits for what its ranks hear from others.
double TcpTurns::next_time(int number) const {
  const Core& core = cores_[at(number)];
  if (!core.is_idle) return core.now.seconds;
  double first = kNever;
  for (int rank = first_on_core(number); rank < first_on_core(number + 1); ++rank) {
    if (const auto moment = woken(rank)) first = std::min(first, std::max(core.now.seconds, moment->seconds));
  }
  return first;
}

void TcpTurns::step(int number) {
  Core& core = cores_[at(number)];
  const Rank& rank = ranks_[at(core.current)];
  if (core.is_idle) return wake(number);
  if (rank.operation == operations_ || rank.is_waiting) return choose_next(number);
  go_on(core.current);
}

void TcpTurns::wake(int number) {
  Core& core = cores_[at(number)];
  std::optional<Moment> since;
  int first = core.current;
  for (int rank = first_on_core(number); rank < first_on_core(number + 1); ++rank) {
    const auto moment = woken(rank);
    if (!moment || (since && since->seconds <= moment->seconds)) continue;
    since = moment;
    first = rank;
  }
  core.is_idle = false;
  if (since->seconds > core.now.seconds) {
    core.now = *since;
    spend(core, TcpCost::kCrossing, 1);
  }
  resume(number, first);
}

/// The next rank in turn that can do something.
void TcpTurns::choose_next(int number) {
  Core& core = cores_[at(number)];
  const int first = first_on_core(number);
  const int here = first_on_core(number + 1) - first;
  for (int visits = 1; visits <= here; ++visits) {
    const int next = first + (core.current - first + visits) % here;
    const Rank& rank = ranks_[at(next)];
    if (rank.operation == operations_) continue;
    const auto moment = rank.is_waiting ? woken(next) : core.now;
    if (moment && moment->seconds <= core.now.seconds) return resume(number, next);
  }
  core.is_idle = true;
}

void TcpTurns::resume(int number, int rank) {
  Core& core = cores_[at(number)];
  if (rank != core.current) spend(core, TcpCost::kSwitch, 1);
  core.current = rank;
  ranks_[at(rank)].is_waiting = false;
  begin_calls(rank);
}

void TcpTurns::begin_calls(int number) {
  Rank& rank = ranks_[at(number)];
  for (const std::size_t index : rank.incoming) streams_[index].is_drained = false;
  rank.next_call = 0;
  rank.has_moved = false;
}

/// Until something takes time, or nothing moves any more.
void TcpTurns::go_on(int number) {
  Rank& rank = ranks_[at(number)];
  if (!rank.is_inside) return enter(number);
  const Moment& now = cores_[at(core_of(number))].now;
  const double before = now.seconds;
  const std::size_t streams = rank.outgoing.size() + rank.incoming.size();
  while (rank.next_call <= streams) {
    const std::size_t call = rank.next_call++;
    if (call < rank.outgoing.size()) {
      rank.has_moved |= send(streams_[rank.outgoing[call]]);
    } else if (call < streams) {
      rank.has_moved |= receive(streams_[rank.incoming[call - rank.outgoing.size()]]);
    } else {
      rank.has_moved |= combine(number);
    }
    if (now.seconds > before) return;
  }
  rank.next_call = 0;
  if (is_complete(number)) return leave(number);
  rank.is_waiting = !std::exchange(rank.has_moved, false);
}

void TcpTurns::enter(int number) {
  Rank& rank = ranks_[at(number)];
  std::fill(rank.moved.begin(), rank.moved.end(), 0);
  rank.is_inside = true;
  begin_calls(number);
  spend(cores_[at(core_of(number))], TcpCost::kOperation, 1);
}

void TcpTurns::leave(int number) {
  Rank& rank = ranks_[at(number)];
  const Moment& now = cores_[at(core_of(number))].now;
  Moment& end = ends_[at(rank.operation)];
  if (now.seconds >= end.seconds) end = now;
  ++rank.operation;
  rank.is_inside = false;
}

/// One call: what is ready, part by part, each of which is there as soon as it was sent.
bool TcpTurns::send(Stream& stream) {
  const MessagePlan& plan = plans_[at(stream.from)];
  Core& core = cores_[at(core_of(stream.from))];
  const long before = stream.sent;
  for (double bytes = 0; bytes < kBytesAtOnce && is_ready(stream);) {
    if (stream.sent == before) {
      spend(core, TcpCost::kContendedMessage, contention(core));
      spend(core, TcpCost::kMessage, 0.5);
    }
    const long done = stream.sent - begun(stream, stream.from);
    const Item& item = stream.items[static_cast<std::size_t>(done / host_.parts)];
    if (item.send != MessagePlan::kNone) {
      const MessagePlan::Send& send = plan.sends[at(item.send)];
      const double part = chunk_bytes_[at(send.chunk)] / host_.parts;
      spend_bytes(core, part, send.after_move == MessagePlan::kNone);
      bytes += part;
    }
    ++stream.sent;
    stream.under_way.push_back(core.now);
  }
  return stream.sent > before;
}

bool TcpTurns::receive(Stream& stream) {
  const MessagePlan& plan = plans_[at(stream.to)];
  Core& core = cores_[at(core_of(stream.to))];
  if (!is_wanted(stream) || stream.is_drained) return false;
  const double now = core.now.seconds;
  const long before = stream.received;
  double bytes = 0;
  while (bytes < kBytesAtOnce && is_wanted(stream) && !stream.under_way.empty() &&
         stream.under_way.front().seconds <= now) {
    const long done = stream.received - begun(stream, stream.to);
    const int move = stream.items[static_cast<std::size_t>(done / host_.parts)].move;
    if (stream.received == before) spend(core, TcpCost::kMessage, 0.5);
    if (move != MessagePlan::kNone) {
      const bool stays = plan.moves[at(move)].kind == TransferKind::kCopy;
      const double part = chunk_bytes_[at(plan.moves[at(move)].chunk)] / host_.parts;
      if (stays) ++ranks_[at(stream.to)].moved[at(move)];
      spend_bytes(core, part, stays);
      bytes += part;
    }
    ++stream.received;
    stream.under_way.pop_front();
    stream.taken = core.now;
  }
  const bool is_whole = (stream.received - begun(stream, stream.to)) % host_.parts == 0;
  stream.is_drained =
      !has_core_alone({stream.to, count()}, host_.cores) && is_whole && bytes < kBytesAtOnce && is_wanted(stream);
  if (stream.received == before) spend(core, TcpCost::kVain, 1);
  return stream.received > before;
}

bool TcpTurns::combine(int number) {
  Rank& rank = ranks_[at(number)];
  bool any = false;
  for (const Reduction& reduction : rank.reductions) {
    int& done = rank.moved[at(reduction.move)];
    if (done == host_.parts) continue;
    int ready = free_to_write(number, reduction.move);
    for (const Seat& seat : reduction.arrivals) {
      const Stream& stream = streams_[seat.stream];
      ready = std::min(ready, done_of(stream, stream.received, seat.item, number));
    }
    if (ready <= done) continue;
    const double bytes = chunk_bytes_[at(plans_[at(number)].moves[at(reduction.move)].chunk)] / host_.parts;
    spend(cores_[at(core_of(number))], TcpCost::kReducedByte,
          bytes * (ready - done) * static_cast<double>(reduction.arrivals.size()));
    done = ready;
    any = true;
  }
  return any;
}

bool TcpTurns::is_complete(int number) const {
  const Rank& rank = ranks_[at(number)];
  const auto is_sent = [&](std::size_t index) {
    const Stream& stream = streams_[index];
    return stream.sent == begun(stream, number) + parts_of(stream);
  };
  const auto is_received = [&](std::size_t index) {
    const Stream& stream = streams_[index];
    return stream.received == begun(stream, number) + parts_of(stream);
  };
  return std::all_of(rank.outgoing.begin(), rank.outgoing.end(), is_sent) &&
         std::all_of(rank.incoming.begin(), rank.incoming.end(), is_received) &&
         std::all_of(rank.reductions.begin(), rank.reductions.end(),
                     [&](const Reduction& one) { return rank.moved[at(one.move)] == host_.parts; });
}

}  // namespace lockstep
