#include "planner/network/rank_loads.h"

#include <utility>

namespace lockstep {

RankLoad operator+(const RankLoad& a, const RankLoad& b) {
  return {.sent = {a.sent.messages + b.sent.messages, a.sent.bytes + b.sent.bytes},
          .received = {a.received.messages + b.received.messages, a.received.bytes + b.received.bytes},
          .reduced_bytes = a.reduced_bytes + b.reduced_bytes};
}

Loads loads_of(int ranks, const Busiest::Link& busiest_link, std::function<RankLoad(int rank)> of_rank) {
  if (ranks < 2) return {.of_rank = [](int) { return RankLoad{}; }, .busiest_link = {}};
  return {.of_rank = std::move(of_rank), .busiest_link = busiest_link};
}

Loads rooted_at(int root, int ranks, const Loads& loads) {
  const auto [from, to, bytes] = loads.busiest_link;
  return loads_of(ranks, {(from + root) % ranks, (to + root) % ranks, bytes},
                  [=, of_place = loads.of_rank](int rank) { return of_place((rank + ranks - root) % ranks); });
}

Busiest busiest_of(const Loads& loads, int ranks) {
  Busiest busiest = busiest_rank(ranks, [&](int rank) {
    const RankLoad load = loads.of_rank(rank);
    return std::pair(load.sent.bytes, load.received.bytes);
  });
  if (loads.busiest_link.bytes > 0) busiest.link = loads.busiest_link;
  return busiest;
}

}  // namespace lockstep
