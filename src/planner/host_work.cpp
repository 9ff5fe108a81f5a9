#include "planner/host_work.h"

#include "base/index.h"
#include "runtime/letter_operation.h"
#include "runtime/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

std::vector<Plan> plans_of(const Schedule& schedule, bool in_place) {
  std::vector<Plan> plans;
  plans.reserve(at(schedule.ranks));
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    plans.push_back(in_place ? make_in_place_plan(schedule, rank) : make_staged_plan(schedule, rank));
  }
  return plans;
}

/// Ranks that take turns on their cores. Each runs until it has to wait; who cannot go on uses its turn up all the
/// same, as a rank does that looks and yields.
class TurnTaking {
 public:
  TurnTaking(const std::vector<Plan>& plans, bool is_staged, int cores)
      : plans_(plans), is_staged_(is_staged), ranks_(plans.size()), cores_(cores) {}

  /// Of the core with the most, for an operation.
  double turns_an_operation() {
    constexpr int kStarting = 2;  // operations after which all ranks have fallen into step
    constexpr int kCounted = 6;
    int starting = 0;
    int round = 0;
    for (; slowest() < kStarting + kCounted; ++round) {
      if (slowest() < kStarting) ++starting;
      // Cores run at the same time: the one that comes first here may go on by what another did in this round.
      for (int core = 0; core < cores_; ++core) run(core + (round % ranks_on(core)) * cores_);
    }
    return static_cast<double>(round - starting) / kCounted;
  }

 private:
  struct Progress {
    int operation = 0;
    int ticks = 0;
    auto operator<=>(const Progress&) const = default;
  };
  struct Rank {
    Progress shown;  ///< to the others
    int operation = 0;
    bool has_entered = false;
    std::size_t step = 0;
  };

  int ranks_on(int core) const { return (static_cast<int>(ranks_.size()) - core + cores_ - 1) / cores_; }

  int slowest() const {
    int least = ranks_.front().operation;
    for (const Rank& rank : ranks_) least = std::min(least, rank.operation);
    return least;
  }

  bool satisfied(const std::vector<Plan::Wait>& waits, int operation) const {
    return std::all_of(waits.begin(), waits.end(), [&](const Plan::Wait& wait) {
      return ranks_[at(wait.peer)].shown >= Progress{operation, wait.ticks};
    });
  }

  void run(int number) {
    constexpr int kSlots = 2;  // of staging, which are written in turn
    constexpr int kMostAhead = 4;
    const Plan& plan = plans_[at(number)];
    Rank& rank = ranks_[at(number)];
    // A rank whom nobody makes wait would run on for ever.
    for (const int last = slowest() + kMostAhead; rank.operation < last;) {
      if (!rank.has_entered) {
        if (is_staged_ && rank.operation >= kSlots && !satisfied(plan.after, rank.operation - kSlots)) return;
        rank.has_entered = true;
        rank.step = 0;
        rank.shown = std::max(rank.shown, Progress{rank.operation, plan.ticks_at(0)});
      }
      for (; rank.step < plan.steps.size(); ++rank.step) {
        if (!satisfied(plan.steps[rank.step].before, rank.operation)) return;
        rank.shown = {rank.operation, plan.ticks_at(rank.step + 1)};
      }
      if (!is_staged_ && !satisfied(plan.after, rank.operation)) return;
      ++rank.operation;
      rank.has_entered = false;
    }
  }

  const std::vector<Plan>& plans_;
  bool is_staged_;
  std::vector<Rank> ranks_;
  int cores_;
};

/// Which core's cache holds what, as caches agree on it: many may hold what is read, one what it wrote last.
class Caches {
 public:
  struct Access {
    double moves = 0;
    double accessed = 0;
    double held = 0;
    double fetched = 0;
    /// A chunk from another core's cache costs several times what one's own does.
    double weight() const { return accessed + 5 * fetched; }
  };

  Caches(const Schedule& schedule, int cores)
      : keeps_input_(schedule.collective == Collective::kAllToAll), cores_(cores) {}

  int core_of(int rank) const { return rank % cores_; }

  /// How many places a move reads or writes, each counted once.
  double places_of(const Plan::Move& move) const {
    std::set<std::pair<int, int>> places;
    for (const Plan::Place& place : move.operands) places.emplace(place.rank, memory_of(place));
    for (const Plan::Place& place : move.targets) places.emplace(place.rank, memory_of(place));
    return static_cast<double>(places.size());
  }

  void read(const Plan::Place& place, int chunk, int core, Access& access) {
    ++access.accessed;
    if (holders(place, chunk).insert(core).second) ++access.fetched;
  }
  void write(const Plan::Place& place, int chunk, int core, Access& access) {
    ++access.accessed;
    holders(place, chunk) = {core};
  }

 private:
  /// Input and output are one buffer but in an all_to_all.
  int memory_of(const Plan::Place& place) const {
    const bool is_input = place.memory == Plan::Memory::kInput;
    return static_cast<int>(is_input && !keeps_input_ ? Plan::Memory::kOutput : place.memory);
  }
  std::set<int>& holders(const Plan::Place& place, int chunk) {
    return holders_.try_emplace({place.rank, memory_of(place), chunk}, std::set{core_of(place.rank)}).first->second;
  }

  bool keeps_input_;
  int cores_;
  std::map<std::tuple<int, int, int>, std::set<int>> holders_;
};

using Moves = std::vector<std::pair<int, const Plan::Move*>>;  ///< with the rank

/// Of all ranks, by tick.
std::vector<Moves> moves_by_tick(const std::vector<Plan>& plans) {
  std::vector<Moves> moves(at(plans.front().ticks));
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    for (const Plan::Step& step : plans[rank].steps) {
      for (const Plan::Move& move : step.moves) {
        moves[at(step.ticks_before)].emplace_back(static_cast<int>(rank), &move);
      }
    }
  }
  return moves;
}

/// What the busiest core of each tick does, summed.
Caches::Access busiest_access(const std::vector<Moves>& ticks, Caches& caches, int cores) {
  Caches::Access sum;
  for (const Moves& moves : ticks) {
    std::vector<Caches::Access> by_core(at(cores));
    for (const auto& [rank, move] : moves) {
      Caches::Access& access = by_core[at(caches.core_of(rank))];
      ++access.moves;
      access.held += caches.places_of(*move);
      for (const Plan::Place& place : move->operands) caches.read(place, move->chunk, caches.core_of(rank), access);
    }
    for (const auto& [rank, move] : moves) {
      Caches::Access& access = by_core[at(caches.core_of(rank))];
      for (const Plan::Place& place : move->targets) caches.write(place, move->chunk, caches.core_of(rank), access);
    }
    const auto& most = *std::max_element(by_core.begin(), by_core.end(),
                                         [](const auto& a, const auto& b) { return a.weight() < b.weight(); });
    sum.moves += most.moves;
    sum.accessed += most.accessed;
    sum.held += most.held;
    sum.fetched += most.fetched;
  }
  return sum;
}

}  // namespace

HostWork work_of(const Schedule& schedule, int cores) {
  const bool in_place = runs_in_place(schedule);
  const std::vector<Plan> plans = plans_of(schedule, in_place);
  const int used_cores = std::clamp(cores, 1, schedule.ranks);
  const std::vector<Moves> ticks = moves_by_tick(plans);
  Caches caches(schedule, used_cores);
  (void)busiest_access(ticks, caches, used_cores);  // where the last operation left everything
  const Caches::Access access = busiest_access(ticks, caches, used_cores);
  return {.turns = TurnTaking(plans, !in_place, used_cores).turns_an_operation(),
          .moves = access.moves,
          .chunks_accessed = access.accessed,
          .chunks_held = access.held,
          .chunks_fetched = access.fetched,
          .is_one_exchange = is_one_exchange(schedule),
          .is_staged = !in_place};
}

}  // namespace lockstep
