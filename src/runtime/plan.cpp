#include "runtime/plan.h"

#include "schedule/view.h"

#include <algorithm>
#include <map>
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

/// The moves of one step, one a chunk, in the order listed.
std::vector<Plan::Move> moves_of(const std::vector<Transfer>& receives) {
  std::vector<Plan::Move> moves;
  for (const Transfer& transfer : receives) {
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

}  // namespace

Plan make_plan(const Schedule& schedule, int rank) {
  const RankView view = view_of(schedule, rank);
  const std::vector<int> finishing = finishing_steps(view);
  Plan plan{schedule.name, view.chunks, static_cast<int>(view.steps.size()), {}, {}};
  std::map<int, std::vector<Plan::Wait>> readers;  // by chunk: who reads it here, and when that is over
  Waits end;
  for (int step = 0; step < plan.step_count; ++step) {
    const RankView::Step& at = view.steps[static_cast<std::size_t>(step)];
    std::vector<Plan::Move> moves = moves_of(at.receives);
    Waits before;
    for (Plan::Move& move : moves) {
      move.finishes = finishing[static_cast<std::size_t>(move.chunk)] == step;
      for (const int source : move.sources) before.add(source, step);
      for (const auto& [reader, steps] : std::exchange(readers[move.chunk], {})) before.add(reader, steps);
    }
    if (!moves.empty()) plan.steps.push_back({step, before.take(), std::move(moves)});
    for (const Transfer& sent : at.sends) {
      readers[sent.chunk].push_back({sent.to, step + 1});
      end.add(sent.to, step + 1);
    }
  }
  plan.after = end.take();
  return plan;
}

}  // namespace lockstep
