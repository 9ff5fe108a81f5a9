#include "group/placement.h"

#include "base/digest.h"
#include "runtime/point_to_point.h"

#include <lockstep/error.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace lockstep::detail {

namespace {

/// What goes from rank to rank.
struct Told {
  std::uint64_t host = 0;
  std::uint64_t calibration = 0;
  std::uint64_t cores = 0;
};

template <class Host>
Placement numbered(const std::vector<Host>& hosts) {
  std::map<Host, int> numbers;
  Placement placement;
  for (const Host& host : hosts) {
    placement.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return numbers.size() > 1 ? placement : Placement();
}

/// Nothing where they are all the same.
Cores where_they_differ(Cores cores) {
  const auto differs = std::adjacent_find(cores.begin(), cores.end(), std::not_equal_to<>());
  return differs == cores.end() ? Cores() : std::move(cores);
}

/// What the whole says of the members, in their order.
std::vector<int> of_members(const std::vector<int>& whole, const std::vector<int>& members) {
  std::vector<int> theirs;
  theirs.reserve(members.size());
  for (const int member : members) theirs.push_back(whole[static_cast<std::size_t>(member)]);
  return theirs;
}

Buffer buffer_over(Told* told, std::size_t count) { return {told, count * sizeof(Told), DataType::kUInt8}; }

/// Messages that go at once, beside any group.
class Exchange {
 public:
  Exchange(Engine& engine, std::chrono::milliseconds timeout)
      : messages_(engine.messages(), engine.rank(), engine.size()), timeout_(timeout) {}

  void start(PointToPoint::Direction direction, int peer, const Buffer& buffer) {
    tickets_.push_back(messages_.start({.direction = direction,
                                        .peer = peer,
                                        .buffer = buffer,
                                        .purpose = "to learn which ranks share a host",
                                        .timeout = timeout_}));
  }
  void finish() {
    try {
      for (const PointToPoint::Ticket ticket : tickets_) {
        for (messages_.advance(); !messages_.is_complete(ticket); messages_.advance()) {
          messages_.look_for_trouble();  // of all messages, whose time is one
          messages_.wait_for(ticket, PointToPoint::Time::max());
        }
      }
    } catch (const Error& error) {
      throw explain(messages_.scene(""), error);
    }
    tickets_.clear();
  }

 private:
  PointToPoint messages_;
  std::chrono::milliseconds timeout_;
  std::vector<PointToPoint::Ticket> tickets_;
};

}  // namespace

Surroundings tell_whereabouts(Engine& engine, const Whereabouts& own, std::chrono::milliseconds timeout) {
  constexpr auto kSend = PointToPoint::Direction::kSend;
  constexpr auto kReceive = PointToPoint::Direction::kReceive;
  std::vector<Told> all(static_cast<std::size_t>(engine.size()));
  all[static_cast<std::size_t>(engine.rank())] = {digest_of(own.host), own.calibration,
                                                  static_cast<std::uint64_t>(own.cores)};
  const auto of = [&](int rank) { return buffer_over(&all[static_cast<std::size_t>(rank)], 1); };
  Exchange exchange(engine, timeout);
  if (engine.rank() > 0) {
    exchange.start(kSend, 0, of(engine.rank()));
    exchange.finish();
    exchange.start(kReceive, 0, buffer_over(all.data(), all.size()));
  } else {
    for (int peer = 1; peer < engine.size(); ++peer) exchange.start(kReceive, peer, of(peer));
    exchange.finish();
    for (int peer = 1; peer < engine.size(); ++peer) exchange.start(kSend, peer, buffer_over(all.data(), all.size()));
  }
  exchange.finish();
  std::vector<std::uint64_t> hosts;
  Cores cores;
  Surroundings surroundings;
  for (const Told& told : all) {
    hosts.push_back(told.host);
    cores.push_back(static_cast<int>(told.cores));
    if (told.calibration != own.calibration) surroundings.same_calibration = false;
  }
  surroundings.placement = numbered(hosts);
  surroundings.cores = where_they_differ(std::move(cores));
  return surroundings;
}

Placement placement_of(const Placement& whole, const std::vector<int>& members) {
  return whole.empty() ? Placement() : numbered(of_members(whole, members));
}

std::vector<RankHere> ranks_here(const Placement& whole, int ranks) {
  std::vector<int> seen(static_cast<std::size_t>(ranks));  // on each host
  std::vector<RankHere> all;
  all.reserve(seen.size());
  const auto host_of = [&](int rank) { return whole.empty() ? 0 : whole[static_cast<std::size_t>(rank)]; };
  for (int rank = 0; rank < ranks; ++rank) all.push_back({.rank = seen[static_cast<std::size_t>(host_of(rank))]++});
  for (int rank = 0; rank < ranks; ++rank) {
    all[static_cast<std::size_t>(rank)].ranks = seen[static_cast<std::size_t>(host_of(rank))];
  }
  return all;
}

Cores cores_of(const Cores& whole, const std::vector<int>& members) {
  return whole.empty() ? Cores() : where_they_differ(of_members(whole, members));
}

}  // namespace lockstep::detail
