#include "schedule/proof.h"

#include "schedule/holdings.h"
#include "schedule/ranges.h"
#include "schedule/rendezvous.h"
#include "schedule/view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// A transfer of one chunk with the number of its step.
struct Event {
  int step;
  Transfer transfer;
};

Refusal refuse(const Event& event, int rank, std::string sentence) {
  return {rank, event.transfer.chunk, event.step, std::move(sentence)};
}

bool is_reduction(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kBarrier;
}

/// The transfers of each chunk, in order.
std::vector<std::vector<Event>> by_chunk(const Schedule& schedule) {
  std::vector<std::vector<Event>> events(at(schedule.chunks));
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Transfer& transfer : schedule.steps[step]) {
      events[at(transfer.chunk)].push_back({static_cast<int>(step), transfer});
    }
  }
  return events;
}

/// Checks that the transfers of a step are independent, for one chunk: what is written is not read, and written by one
/// copy or by reduces only.
class Independence {
 public:
  explicit Independence(int ranks) : reads_(at(ranks), -1), writes_(at(ranks), Write{-1, TransferKind::kCopy}) {}

  std::optional<Refusal> check(const Event& event) {
    const Transfer& transfer = event.transfer;
    Write& write = writes_[at(transfer.to)];
    if (write.step == event.step && (write.kind == TransferKind::kCopy || transfer.kind == TransferKind::kCopy)) {
      return refuse(event, transfer.to,
                    fmt::format("rank {} takes a copy and something else besides in one step", transfer.to));
    }
    write = {event.step, transfer.kind};
    reads_[at(transfer.from)] = event.step;
    for (const int rank : {transfer.from, transfer.to}) {
      if (reads_[at(rank)] == event.step && writes_[at(rank)].step == event.step) {
        return refuse(event, rank,
                      fmt::format("rank {} sends the chunk in the step in which it is written there", rank));
      }
    }
    return std::nullopt;
  }

 private:
  struct Write {
    int step;
    TransferKind kind;
  };
  std::vector<int> reads_;  ///< the last step in which each rank's chunk is read
  std::vector<Write> writes_;
};

/// Whether the transfer means something, given what the ranks hold.
std::optional<Refusal> check_meaning(const Holdings& holdings, const Event& event) {
  const auto [kind, chunk, from, to] = event.transfer;
  if (!holdings.holds(from)) return refuse(event, from, fmt::format("rank {} sends what it does not hold", from));
  if (kind == TransferKind::kCopy) {
    if (!holdings.is_complete(from)) {
      return refuse(event, from,
                    fmt::format("rank {} sends a copy of a partial sum ({})", from,
                                fmt::join(holdings.contributions(from), "+")));
    }
    if (holdings.is_complete(to)) {
      return refuse(event, to, fmt::format("rank {} is sent what it holds already, complete", to));
    }
    return std::nullopt;
  }
  if (!holdings.holds(to)) return refuse(event, to, fmt::format("rank {} has nothing to add to", to));
  if (const auto twice = holdings.shared_contribution(from, to)) {
    return refuse(event, to, fmt::format("rank {} would count the contribution of rank {} twice", to, *twice));
  }
  return std::nullopt;
}

std::optional<Refusal> check_end(const Schedule& schedule, int chunk, const Holdings& holdings) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (!must_end_with(schedule, rank, chunk) || holdings.is_complete(rank)) continue;
    return Refusal{rank, chunk, -1,
                   holdings.holds(rank) ? fmt::format("rank {} ends with the contributions {} only", rank,
                                                      fmt::join(holdings.contributions(rank), "+"))
                                        : fmt::format("rank {} ends without it", rank)};
  }
  return std::nullopt;
}

std::optional<Refusal> execute(const Schedule& schedule, int chunk, const std::vector<Event>& events,
                               Holdings& holdings) {
  Independence independence(schedule.ranks);
  // A step's transfers are judged by what was held when it began: what they write, none of them reads.
  for (const Event& event : events) {
    if (auto refusal = independence.check(event)) return refusal;
    if (auto refusal = check_meaning(holdings, event)) return refusal;
    holdings.apply(event.transfer);
  }
  return check_end(schedule, chunk, holdings);
}

/// Any rank that is promised the chunk, to ask what it ends with.
int a_promised_rank(const Schedule& schedule, int chunk) {
  return schedule.collective == Collective::kReduceScatter ? owner_of(schedule, chunk) : 0;
}

}  // namespace

Proof prove(const Schedule& schedule) {
  Proof proof;
  proof.refusal = check_ranges(schedule);
  if (proof.refusal) return proof;
  const std::vector<std::vector<Event>> events = by_chunk(schedule);
  const bool has_orders = is_reduction(schedule.collective) && schedule.ranks <= kMostRanksInOrders;
  std::map<std::string, std::vector<int>> chunks_of;
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    Holdings holdings(schedule, chunk);
    proof.refusal = execute(schedule, chunk, events[at(chunk)], holdings);
    if (proof.refusal) break;
    if (has_orders) chunks_of[holdings.expression(a_promised_rank(schedule, chunk))].push_back(chunk);
  }
  if (!proof.refusal) proof.refusal = check_rendezvous(views_of(schedule));
  if (proof.refusal) return proof;
  for (auto& [expression, chunks] : chunks_of) proof.orders.push_back({expression, std::move(chunks)});
  std::sort(proof.orders.begin(), proof.orders.end(),
            [](const SumOrder& a, const SumOrder& b) { return a.chunks.front() < b.chunks.front(); });
  return proof;
}

void require_proved(const Schedule& schedule) {
  const Proof proof = prove(schedule);
  if (proof.proved()) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("The schedule '{}' is refused: {}", schedule.name, describe(*proof.refusal)));
}

}  // namespace lockstep
