#include "group/placement.h"

#include "runtime/point_to_point.h"

#include <lockstep/error.h>

#include <cstdint>
#include <map>

namespace lockstep::detail {

namespace {

using Digest = std::int64_t;

/// FNV-1a: the same in every build, which std::hash is not.
Digest digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<Digest>(hash);
}

template <class Host>
Placement numbered(const std::vector<Host>& hosts) {
  std::map<Host, int> numbers;
  Placement placement;
  for (const Host& host : hosts) {
    placement.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return numbers.size() > 1 ? placement : Placement();
}

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

Placement tell_hosts(Engine& engine, std::string_view host, std::chrono::milliseconds timeout) {
  constexpr auto kSend = PointToPoint::Direction::kSend;
  constexpr auto kReceive = PointToPoint::Direction::kReceive;
  std::vector<Digest> hosts(static_cast<std::size_t>(engine.size()));
  hosts[static_cast<std::size_t>(engine.rank())] = digest_of(host);
  const auto of = [&](int rank) { return buffer_of(&hosts[static_cast<std::size_t>(rank)], 1); };
  Exchange exchange(engine, timeout);
  if (engine.rank() > 0) {
    exchange.start(kSend, 0, of(engine.rank()));
    exchange.finish();
    exchange.start(kReceive, 0, buffer_of(hosts));
  } else {
    for (int peer = 1; peer < engine.size(); ++peer) exchange.start(kReceive, peer, of(peer));
    exchange.finish();
    for (int peer = 1; peer < engine.size(); ++peer) exchange.start(kSend, peer, buffer_of(hosts));
  }
  exchange.finish();
  return numbered(hosts);
}

Placement placement_of(const Placement& whole, const std::vector<int>& members) {
  if (whole.empty()) return {};
  std::vector<int> hosts;
  hosts.reserve(members.size());
  for (const int member : members) hosts.push_back(whole[static_cast<std::size_t>(member)]);
  return numbered(hosts);
}

}  // namespace lockstep::detail
