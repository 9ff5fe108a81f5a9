#include "planner/one_host/host_turns.h"

#include "base/index.h"
#include "runtime/staging_ring.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lockstep {

HostTurns::HostTurns(const std::vector<Plan>& plans, const Host& host, const HostCosts& seconds)
    : plans_(plans), host_(host), seconds_(seconds), ranks_(plans.size()), cores_(at(host.cores)) {
  static_assert(StagingRing::kSlots == std::tuple_size_v<decltype(Rank::slot_users)>);
  for (int core = 0; core < host.cores; ++core) cores_[at(core)].current = first_on_core(core);
}

HostCosts HostTurns::run(const Length& length, const MoveCosts& move_costs, const BeforeBarrier& before_barrier) {
  length_ = length;
  const auto until = [&](int over, int operations) { run_until(over, operations, move_costs); };
  return cost_of(length, ends_, until, [&] {
    if (before_barrier) before_barrier();
    return meet();
  });
}

/// Until so many operations are over on all ranks, which enter no more than `operations`.
void HostTurns::run_until(int over, int operations, const MoveCosts& move_costs) {
  operations_ = operations;
  const auto is_over = [&](const Rank& rank) { return rank.operation >= over; };
  while (!std::all_of(ranks_.begin(), ranks_.end(), is_over)) {
    int first = -1;
    for (int core = 0; core < host_.cores; ++core) {
      Core& one = cores_[at(core)];
      if (std::exchange(one.is_stale, false)) one.next = next_of(core);
      if (one.next && (first < 0 || one.next->seconds < cores_[at(first)].next->seconds)) first = core;
    }
    if (first < 0) throw std::logic_error("nobody can go on");
    go_on(first, move_costs);
  }
}

/// All cores go on from where the last one is, each with its first rank.
HostTurns::Moment HostTurns::meet() {
  const Moment last = latest(cores_);
  for (int core = 0; core < host_.cores; ++core) {
    Core& one = cores_[at(core)];
    one.now = last;
    one.current = first_on_core(core);
    one.is_stale = true;
  }
  return last;
}

int HostTurns::ranks_on(int core) const { return first_on_core(core + 1) - first_on_core(core); }

bool HostTurns::is_within_step(int rank) const { return ranks_[at(rank)].move > 0 || ranks_[at(rank)].part > 0; }

/// A price's share that is spent this time, 1 in the mean.
double HostTurns::strayed() {
  constexpr auto kMost = static_cast<double>(std::minstd_rand::max());
  return 1 + host_.straying * (2 * static_cast<double>(random_()) / kMost - 1);
}

/// How many of the other cores are busy while this one is where it is; 1 if all are.
double HostTurns::contention(const Core& core) const {
  return share_of_others(cores_, core, [&](const Core& other) {
    const bool goes_on = other.next && other.next->seconds <= core.now.seconds;
    return goes_on || other.now.seconds > core.now.seconds;
  });
}

/// Counts what crosses while others are busy too.
void HostTurns::share_with_others(double contention, HostCosts& costs) const {
  for (const auto cost : {HostCosts::kSharedWriteOwnByte, HostCosts::kSharedCopyOwnByte})
    costs[cost] *= 1 - host_.for_their_sake * (1 - contention);
  costs[HostCosts::kContendedByte] +=
      contention *
      (costs[HostCosts::kFetchedByte] + costs[HostCosts::kSharedWriteOwnByte] + costs[HostCosts::kSharedCopyOwnByte]);
}

void HostTurns::spend(Core& core, HostCosts::Cost cost, double amount) {
  core.now.spend(cost, amount, seconds_, strayed());
}

HostTurns::Waiting HostTurns::waiting_of(int number) const {
  static const std::vector<Plan::Wait> kNothing;
  const Rank& rank = ranks_[at(number)];
  const Plan& plan = plans_[at(number)];
  if (!rank.in_piece) {
    const auto& user = rank.slot_users[rank.slots_taken % StagingRing::kSlots];
    if (host_.is_staged && user) return {&plan.after_turning, *user};
    return {&kNothing, {}};
  }
  const Progress piece{rank.operation, rank.piece * plan.ticks};
  if (rank.position < plan.steps.size()) return {&plan.steps[rank.position].before, piece};
  return {host_.is_staged ? &kNothing : &plan.after, piece};
}

bool HostTurns::waits_for(int rank, int peer) const {
  const std::vector<Plan::Wait>& waits = *waiting_of(rank).waits;
  return std::any_of(waits.begin(), waits.end(), [&](const Plan::Wait& wait) { return wait.peer == peer; });
}

/// When all that the rank waits for was shown; nothing if some of it was not yet.
std::optional<HostTurns::Moment> HostTurns::ready(int rank) const {
  const auto [waits, since] = waiting_of(rank);
  Moment last;
  for (const Plan::Wait& wait : *waits) {
    const Progress target{since.operation, since.ticks + wait.ticks};
    const std::vector<Shown>& shown = ranks_[at(wait.peer)].shown;
    if (shown.empty() || shown.back().progress < target) return std::nullopt;
    std::size_t first = shown.size() - 1;
    while (first > 0 && shown[first - 1].progress >= target) --first;
    if (shown[first].since.seconds > last.seconds) last = shown[first].since;
  }
  return last;
}

std::optional<HostTurns::Next> HostTurns::next_of(int number) const {
  const Core& core = cores_[at(number)];
  if (is_within_step(core.current)) return Next{core.now.seconds, core.current, 0, {}};
  const int ranks = ranks_on(number);
  const int first = first_on_core(number);
  std::optional<Next> earliest;
  double now = core.now.seconds;
  for (int visits = 0; visits < ranks; ++visits) {
    const int rank = first + (core.current - first + visits) % ranks;
    if (ranks_[at(rank)].operation == operations_) continue;
    if (const auto moment = ready(rank)) {
      if (moment->seconds <= now) return Next{now, rank, visits, {}};
      // What is on its way when something else is written joins it, so that the core goes on when it has come.
      const double seconds = moment->seconds + seconds_[HostCosts::kProgress];
      if (!earliest || seconds < earliest->seconds) {
        earliest = {seconds, rank, visits, moment, 1};
      } else if (seconds == earliest->seconds) {
        ++earliest->woken;
      }
    }
    now += seconds_[HostCosts::kSwitch];
  }
  return earliest;
}

void HostTurns::go_on(int number, const MoveCosts& move_costs) {
  Core& core = cores_[at(number)];
  const Next next = *core.next;
  if (next.woken_by) {
    if (next.woken_by->seconds > core.now.seconds) core.now = *next.woken_by;
    // The core looks at one after the other: in the mean it comes half a round late to the only one that can go on, and
    // the sooner to the first of several.
    const int round = ranks_on(number) > 1 ? ranks_on(number) : 0;
    spend(core, HostCosts::kSwitch, 0.5 * round / next.woken);
  } else {
    spend(core, HostCosts::kSwitch, next.visits);
  }
  // The system's own words, which it writes to switch, come behind what was shown: that is to have crossed first,
  // but for what of it has passed by then.
  if (next.rank != core.current && std::exchange(core.was_watched, false)) {
    spend(core, HostCosts::kProgress, host_.before_switch);
  }
  core.current = next.rank;
  core.is_stale = true;
  if (!is_within_step(next.rank)) look(number, next.rank);
  act(next.rank, move_costs);
  if (is_within_step(next.rank)) return;  // nothing new to see for anybody
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (waits_for(rank, next.rank)) cores_[at(core_of(rank))].is_stale = true;
  }
}

/// Reads the progress of those it waited for: what a peer on another core has written since crosses once.
void HostTurns::look(int number, int rank) {
  Core& core = cores_[at(number)];
  for (const Plan::Wait& wait : *waiting_of(rank).waits) {
    if (core_of(wait.peer) == number) continue;
    const std::vector<Shown>& shown = ranks_[at(wait.peer)].shown;
    const double come = core.now.seconds + seconds_[HostCosts::kProgress];
    auto last = shown.end();
    while (last != shown.begin() && std::prev(last)->since.seconds > come) --last;
    const Progress progress = last == shown.begin() ? Progress{} : std::prev(last)->progress;
    const auto [seen, is_new] = core.seen.try_emplace(wait.peer, progress);
    if (!is_new && seen->second == progress) continue;
    seen->second = progress;
    spend(core, HostCosts::kProgress, 1);
  }
}

void HostTurns::act(int number, const MoveCosts& move_costs) {
  Rank& rank = ranks_[at(number)];
  const Plan& plan = plans_[at(number)];
  if (!rank.in_piece) {
    enter_piece(number);
  } else if (rank.position < plan.steps.size()) {
    run_part(number, plan.steps[rank.position], move_costs);
  } else {
    leave_piece(number);
  }
}

/// A part of the step's next move; after the last one the step is done, which is shown.
void HostTurns::run_part(int number, const Plan::Step& step, const MoveCosts& move_costs) {
  Rank& rank = ranks_[at(number)];
  Core& core = cores_[at(core_of(number))];
  HostCosts costs;
  const std::size_t taken = rank.slots_taken + StagingRing::kSlots - 1;
  if (!step.moves.empty()) {
    const Where where{.rank = number,
                      .operation = rank.operation,
                      .piece = rank.piece,
                      .slot = taken % StagingRing::kSlots,
                      .turn = taken / StagingRing::kSlots,
                      .part = rank.part};
    move_costs(step.moves[rank.move], where, costs);
    share_with_others(contention(core), costs);
    rank.part = (rank.part + 1) % host_.parts;
    if (rank.part == 0) ++rank.move;
  }
  for (std::size_t i = 0; i < HostCosts::kCount; ++i) core.now.spent[i] += costs[i];
  core.now.seconds += costs * seconds_;
  if (rank.operation >= length_.starting && rank.operation < length_.starting + length_.counted) {
    for (std::size_t i = 0; i < HostCosts::kCount; ++i) of_all_cores_[i] += costs[i] / length_.counted;
  }
  if (rank.part > 0 || rank.move < step.moves.size()) return;
  rank.move = 0;
  show(number, ++rank.position);
}

void HostTurns::enter_piece(int number) {
  Rank& rank = ranks_[at(number)];
  const Plan& plan = plans_[at(number)];
  if (host_.is_staged) {
    rank.slot_users[rank.slots_taken++ % StagingRing::kSlots] = Progress{rank.operation, rank.piece * plan.ticks};
  }
  if (rank.piece == 0) spend(cores_[at(core_of(number))], HostCosts::kOperation, 1);
  rank.in_piece = true;
  rank.position = 0;
  const bool starts_at_once = !plan.steps.empty() && plan.steps.front().before.empty();
  if (!starts_at_once) show(number, 0);
}

void HostTurns::leave_piece(int number) {
  Rank& rank = ranks_[at(number)];
  rank.in_piece = false;
  if (++rank.piece < host_.pieces) return;
  const Moment& now = cores_[at(core_of(number))].now;
  Moment& end = ends_[at(rank.operation)];
  if (now.seconds >= end.seconds) end = now;
  rank.piece = 0;
  ++rank.operation;
}

void HostTurns::show(int number, std::size_t position) {
  Rank& rank = ranks_[at(number)];
  const Plan& plan = plans_[at(number)];
  const Progress progress{rank.operation, rank.piece * plan.ticks + plan.ticks_at(position)};
  if (!rank.shown.empty() && rank.shown.back().progress >= progress) return;
  Core& core = cores_[at(core_of(number))];
  rank.shown.push_back({progress, core.now});
  if (ranks_on(core_of(number)) > 1) core.was_watched = core.was_watched || is_watched(number);
}

/// Whether a rank that has a core alone waits for this one: it looks all the time.
bool HostTurns::is_watched(int number) const {
  for (int other = 0; other < count(); ++other) {
    if (other != number && ranks_on(core_of(other)) == 1 && waits_for(other, number)) return true;
  }
  return false;
}

}  // namespace lockstep
