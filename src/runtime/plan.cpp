#include "runtime/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lockstep {

namespace {

/// Waits for the same peer are one wait, for the furthest.
class Waits {
 public:
  void add(int peer, int steps) {
    int& furthest = furthest_[peer];
    furthest = std::max(furthest, steps);
  }
  std::vector<Plan::Wait> take() {
    std::vector<Plan::Wait> waits;
    for (const auto& [peer, steps] : furthest_) waits.push_back({peer, steps});
    furthest_.clear();
    return waits;
  }

 private:
  std::map<int, int> furthest_;
};

/// Does the collective promise this chunk to this rank?
bool is_promised(const Schedule& schedule, int chunk, int rank) {
  return schedule.collective != Collective::kReduceScatter || owner_of(schedule, chunk) == rank;
}

/// The last step in which this rank writes each chunk.
std::map<int, int> last_writes(const Schedule& view, int rank) {
  std::map<int, int> last;
  for (std::size_t step = 0; step < view.steps.size(); ++step) {
    for (const Transfer& transfer : view.steps[step]) {
      if (transfer.to == rank) last[transfer.chunk] = static_cast<int>(step);
    }
  }
  return last;
}

/// The moves of one step, one a chunk, in the order listed.
std::vector<Plan::Move> moves_of(const Step& step, int rank) {
  std::vector<Plan::Move> moves;
  for (const Transfer& transfer : step) {
    if (transfer.to != rank) continue;
    const auto same =
        std::find_if(moves.begin(), moves.end(), [&](const Plan::Move& move) { return move.chunk == transfer.chunk; });
    if (same == moves.end()) {
      moves.push_back({transfer.kind, transfer.chunk, {transfer.from}, false});
    } else {
      same->sources.push_back(transfer.from);
    }
  }
  return moves;
}

Schedule only(const Schedule& schedule, int rank) {
  Schedule view = schedule;
  for (Step& step : view.steps) {
    std::erase_if(step, [rank](const Transfer& transfer) { return transfer.from != rank && transfer.to != rank; });
  }
  return view;
}

}  // namespace

Plan make_plan(const Schedule& schedule, int rank) {
  Plan plan{only(schedule, rank), {}, {}, {}};
  const auto last = last_writes(plan.view, rank);
  std::map<int, std::vector<Plan::Wait>> readers;  // by chunk: who reads it here, and when that is over
  std::set<int> partners;
  Waits end;
  for (std::size_t index = 0; index < plan.view.steps.size(); ++index) {
    const int step = static_cast<int>(index);
    std::vector<Plan::Move> moves = moves_of(plan.view.steps[index], rank);
    Waits before;
    for (Plan::Move& move : moves) {
      for (const int source : move.sources) before.add(source, step);
      for (const auto [reader, steps] : std::exchange(readers[move.chunk], {})) before.add(reader, steps);
      // Nothing writes here again, so what the reduction leaves is what stays; if that is promised, it is complete.
      move.completes =
          move.kind == TransferKind::kReduce && last.at(move.chunk) == step && is_promised(plan.view, move.chunk, rank);
    }
    if (!moves.empty()) plan.steps.push_back({step, before.take(), std::move(moves)});
    for (const Transfer& transfer : plan.view.steps[index]) {
      partners.insert(transfer.from == rank ? transfer.to : transfer.from);
      if (transfer.from != rank) continue;
      readers[transfer.chunk].push_back({transfer.to, step + 1});
      end.add(transfer.to, step + 1);
    }
  }
  plan.after = end.take();
  plan.partners.assign(partners.begin(), partners.end());
  return plan;
}

}  // namespace lockstep
