#include "planner/network/count.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace lockstep {

std::vector<Message> messages_of(const Schedule& schedule) {
  std::vector<Message> messages;
  std::vector<Transfer> sorted;
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    sorted = schedule.steps[step];
    const auto pair = [](const Transfer& transfer) { return std::tuple(transfer.from, transfer.to); };
    std::sort(sorted.begin(), sorted.end(), [&](const Transfer& a, const Transfer& b) { return pair(a) < pair(b); });
    const std::size_t first_of_step = messages.size();
    for (const Transfer& transfer : sorted) {
      if (messages.size() == first_of_step || std::tuple(messages.back().from, messages.back().to) != pair(transfer)) {
        messages.push_back({static_cast<int>(step), transfer.from, transfer.to, 0, 0});
      }
      ++messages.back().chunks;
      if (transfer.kind == TransferKind::kReduce) ++messages.back().reduced_chunks;
    }
  }
  return messages;
}

void take_busier(Busiest::Link& busiest, const Busiest::Link& link) {
  const bool is_more = link.bytes > busiest.bytes * (1 + 1e-9);
  const bool is_lower =
      link.bytes > busiest.bytes * (1 - 1e-9) && std::tuple(link.from, link.to) < std::tuple(busiest.from, busiest.to);
  if (is_more || is_lower) busiest = link;
}

Counts count(const Schedule& schedule, double bytes) {
  Counts counts{.ranks = schedule.ranks, .steps = schedule.steps.size(), .by_rank = {}, .busiest = {}};
  counts.by_rank.resize(static_cast<std::size_t>(schedule.ranks));
  const double one_chunk_bytes = chunk_bytes(schedule, bytes);
  std::unordered_map<std::uint64_t, double> links;
  for (const Message& message : messages_of(schedule)) {
    const double size = message.chunks * one_chunk_bytes;
    ++counts.messages;
    counts.transfers += static_cast<std::uint64_t>(message.chunks);
    counts.bytes += size;
    counts.by_rank[static_cast<std::size_t>(message.from)].sent_bytes += size;
    Counts::Rank& receiver = counts.by_rank[static_cast<std::size_t>(message.to)];
    receiver.received_bytes += size;
    receiver.reduced_bytes += message.reduced_chunks * one_chunk_bytes;
    links[(std::uint64_t{static_cast<std::uint32_t>(message.from)} << 32) | static_cast<std::uint32_t>(message.to)] +=
        size;
  }
  for (const Counts::Rank& rank : counts.by_rank) {
    counts.most_sent_bytes = std::max(counts.most_sent_bytes, rank.sent_bytes);
  }
  counts.busiest = busiest_rank(schedule.ranks, [&](int rank) {
    const Counts::Rank& moved = counts.by_rank[static_cast<std::size_t>(rank)];
    return std::pair(moved.sent_bytes, moved.received_bytes);
  });
  for (const auto& [pair, size] : links) {
    take_busier(counts.busiest.link, {static_cast<int>(pair >> 32), static_cast<int>(pair & 0xffffffffU), size});
  }
  return counts;
}

}  // namespace lockstep
