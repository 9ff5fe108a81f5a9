#include "schedule/proof.h"

#include "base/index.h"
#include "schedule/holdings.h"
#include "schedule/promise.h"
#include "schedule/ranges.h"
#include "schedule/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace lockstep {

namespace {

/// What a step does with one chunk.
struct Move {
  int step;
  std::span<const Transfer> transfers;
};

Refusal refuse(const Move& move, int rank, std::string sentence) {
  return {rank, move.transfers.front().chunk, move.step, std::move(sentence)};
}

/// All transfers, chunk by chunk, those of a chunk in the order of the steps.
class ByChunk {
 public:
  explicit ByChunk(const Schedule& schedule) : begins_(at(schedule.chunks) + 1) {
    for (const Step& step : schedule.steps) {
      for (const Transfer& transfer : step) ++begins_[at(transfer.chunk) + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    transfers_.resize(begins_.back());
    steps_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
      for (const Transfer& transfer : schedule.steps[step]) {
        const std::size_t place = next[at(transfer.chunk)]++;
        transfers_[place] = transfer;
        steps_[place] = static_cast<int>(step);
      }
    }
  }

  /// The moves of a chunk, in order, until `use` returns a refusal.
  template <class Use>
  std::optional<Refusal> for_each_move_of(int chunk, const Use& use) const {
    const std::size_t end = begins_[at(chunk) + 1];
    for (std::size_t first = begins_[at(chunk)]; first < end;) {
      std::size_t last = first;
      while (last < end && steps_[last] == steps_[first]) ++last;
      if (auto refusal = use(Move{steps_[first], {&transfers_[first], last - first}})) return refusal;
      first = last;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::size_t> begins_;  ///< of each chunk, and the end of the last
  std::vector<Transfer> transfers_;
  std::vector<int> steps_;  ///< of each of them
};

/// Executes the schedule for one chunk, and checks it on the way.
class ChunkProof {
 public:
  ChunkProof(const Schedule& schedule, int chunk)
      : schedule_(schedule),
        chunk_(chunk),
        holdings_(schedule, chunk),
        reads_(at(schedule.ranks), -1),
        writes_(at(schedule.ranks), Write{-1, TransferKind::kCopy}) {}

  /// All transfers of a move are judged by what was held before it.
  std::optional<Refusal> execute(const Move& move) {
    for (const Transfer& transfer : move.transfers) {
      if (auto refusal = check_independence(move, transfer)) return refusal;
      if (auto refusal = check_meaning(move, transfer)) return refusal;
    }
    if (auto refusal = check_sums(move)) return refusal;
    holdings_.apply(move.transfers);
    return std::nullopt;
  }

  std::optional<Refusal> check_end() {
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      if (!must_end_with(schedule_, rank, chunk_)) continue;
      if (!holdings_.is_complete(rank)) return incomplete(rank);
      if (promised_ < 0) promised_ = rank;
      if (!sums_values(schedule_.collective) || holdings_.value(rank) == holdings_.value(promised_)) continue;
      return other_order(rank);
    }
    return std::nullopt;
  }

  /// Of the value that every rank with a promise ends with.
  std::string order() const { return holdings_.expression(promised_); }
  bool is_canonical() const { return holdings_.is_canonical(promised_); }

 private:
  struct Write {
    int step;
    TransferKind kind;
  };

  /// What takes a copy takes nothing else in the step, and is not read.
  std::optional<Refusal> check_independence(const Move& move, const Transfer& transfer) {
    Write& write = writes_[at(transfer.to)];
    if (write.step == move.step && (write.kind == TransferKind::kCopy || transfer.kind == TransferKind::kCopy)) {
      return refuse(move, transfer.to,
                    fmt::format("rank {} takes a copy and something else besides in one step", transfer.to));
    }
    write = {move.step, transfer.kind};
    reads_[at(transfer.from)] = move.step;
    for (const int rank : {transfer.from, transfer.to}) {
      const Write& other = writes_[at(rank)];
      if (reads_[at(rank)] == move.step && other.step == move.step && other.kind == TransferKind::kCopy) {
        return refuse(move, rank, fmt::format("rank {} sends the chunk in the step in which it takes a copy", rank));
      }
    }
    return std::nullopt;
  }

  /// Whether the transfer means something, given what the ranks hold.
  std::optional<Refusal> check_meaning(const Move& move, const Transfer& transfer) const {
    const auto [kind, chunk, from, to] = transfer;
    if (schedule_.collective == Collective::kAllToAll && to != destination_of(schedule_, chunk)) {
      return refuse(move, to,
                    fmt::format("rank {} has no room for what is for rank {}: its output takes its own blocks only", to,
                                destination_of(schedule_, chunk)));
    }
    if (!holdings_.holds(from)) return refuse(move, from, fmt::format("rank {} sends what it does not hold", from));
    if (kind == TransferKind::kReduce) {
      if (!holdings_.holds(to)) return refuse(move, to, fmt::format("rank {} has nothing to add to", to));
      return std::nullopt;
    }
    if (!holdings_.is_complete(from)) {
      return refuse(move, from,
                    fmt::format("rank {} sends a copy of a partial sum ({})", from,
                                fmt::join(holdings_.contributions(from), "+")));
    }
    if (holdings_.is_complete(to)) {
      return refuse(move, to, fmt::format("rank {} is sent what it holds already, complete", to));
    }
    return std::nullopt;
  }

  std::optional<Refusal> check_sums(const Move& move) const {
    if (schedule_.collective == Collective::kBarrier) return check_told_once(move);
    // A copy stands alone, and its contributions replace what was there.
    if (move.transfers.front().kind == TransferKind::kCopy && move.transfers.size() == 1) return std::nullopt;
    std::vector<Transfer> reduces;
    std::copy_if(move.transfers.begin(), move.transfers.end(), std::back_inserter(reduces),
                 [](const Transfer& transfer) { return transfer.kind == TransferKind::kReduce; });
    const auto twice = holdings_.counted_twice(reduces);
    if (!twice) return std::nullopt;
    return refuse(
        move, twice->rank,
        fmt::format("rank {} would count the contribution of rank {} twice", twice->rank, twice->contribution));
  }

  /// To hear from somebody by way of several does no harm, but what meets in a step has its place by whom it is from.
  static std::optional<Refusal> check_told_once(const Move& move) {
    std::vector<std::pair<int, int>> links;
    for (const Transfer& transfer : move.transfers) links.emplace_back(transfer.to, transfer.from);
    std::sort(links.begin(), links.end());
    const auto twice = std::adjacent_find(links.begin(), links.end());
    if (twice == links.end()) return std::nullopt;
    return refuse(move, twice->first,
                  fmt::format("rank {} is told twice by rank {} in one step", twice->first, twice->second));
  }

  Refusal other_order(int rank) const {
    const bool is_short = schedule_.ranks <= kMostRanksInOrders;
    std::string sentence;
    if (holdings_.in_same_order(rank, promised_)) {
      sentence = fmt::format("rank {} would end with other 16-bit floats than rank {}, which rounds other parts of ",
                             rank, promised_) +
                 (is_short ? holdings_.expression(rank) : "the sum");
    } else {
      sentence =
          fmt::format("rank {} would end with other bits than rank {}, which sums in another order", rank, promised_);
      if (is_short)
        sentence += fmt::format(": {}, not {}", holdings_.expression(rank), holdings_.expression(promised_));
    }
    return {rank, chunk_, writes_[at(rank)].step, std::move(sentence)};
  }

  Refusal incomplete(int rank) const {
    return {rank, chunk_, static_cast<int>(schedule_.steps.size()) - 1,
            holdings_.holds(rank) ? fmt::format("rank {} ends with the contributions {} only", rank,
                                                fmt::join(holdings_.contributions(rank), "+"))
                                  : fmt::format("rank {} ends without it", rank)};
  }

  const Schedule& schedule_;
  int chunk_;
  Holdings holdings_;
  std::vector<int> reads_;     ///< the last step in which each rank's chunk is read
  std::vector<Write> writes_;  ///< and the last write to it
  int promised_ = -1;          ///< a rank that must end with the chunk
};

/// Whether what is reduced is always what a rank contributed itself, if it is summed at all.
bool combines_at_once(const Schedule& schedule) {
  if (!sums_values(schedule.collective)) return true;
  const auto place = [&](int rank, int chunk) { return at(rank) * at(schedule.chunks) + at(chunk); };
  std::vector<bool> is_sum(at(schedule.ranks) * at(schedule.chunks));
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      if (transfer.kind != TransferKind::kReduce) continue;
      if (is_sum[place(transfer.from, transfer.chunk)] || is_sum[place(transfer.to, transfer.chunk)]) return false;
    }
    for (const Transfer& transfer : step) {
      if (transfer.kind == TransferKind::kReduce) is_sum[place(transfer.to, transfer.chunk)] = true;
    }
  }
  return true;
}

/// Chunk by chunk; fills in what a proof says about sums.
std::optional<Refusal> prove_chunks(const Schedule& schedule, Proof& proof) {
  const ByChunk moves(schedule);
  proof.canonical = true;
  std::map<std::string, std::vector<int>> chunks_of;
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    ChunkProof of_chunk(schedule, chunk);
    if (auto refusal = moves.for_each_move_of(chunk, [&](const Move& move) { return of_chunk.execute(move); }))
      return refusal;
    if (auto refusal = of_chunk.check_end()) return refusal;
    if (!sums_values(schedule.collective)) continue;
    proof.canonical = proof.canonical && of_chunk.is_canonical();
    if (schedule.ranks <= kMostRanksInOrders) chunks_of[of_chunk.order()].push_back(chunk);
  }
  for (auto& [expression, chunks] : chunks_of) proof.orders.push_back({expression, std::move(chunks)});
  std::sort(proof.orders.begin(), proof.orders.end(),
            [](const SumOrder& a, const SumOrder& b) { return a.chunks.front() < b.chunks.front(); });
  return std::nullopt;
}

}  // namespace

Proof prove(const Schedule& schedule) {
  const auto refused = [](Refusal refusal) {
    Proof proof;
    proof.refusal = std::move(refusal);
    return proof;
  };
  if (auto refusal = check_ranges(schedule)) return refused(std::move(*refusal));
  Proof proof;
  if (auto refusal = prove_chunks(schedule, proof)) return refused(std::move(*refusal));
  if (auto refusal = check_rendezvous(posts_of(schedule))) return refused(std::move(*refusal));
  proof.canonical_in_16_bits = proof.canonical && combines_at_once(schedule);
  return proof;
}

void require_proved(const Schedule& schedule) {
  const Proof proof = prove(schedule);
  if (proof.proved()) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("The schedule '{}' is refused: {}", schedule.name, describe(*proof.refusal)));
}

}  // namespace lockstep
