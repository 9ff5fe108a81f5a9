#pragma once

#include "planner/one_host/host_costs.h"
#include "planner/one_host/moment.h"
#include "runtime/plan.h"
#include "topology/dealing.h"

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace lockstep {

/// Lets the plans of all ranks run on cores, in time. A core runs one of its ranks until it has to wait for another,
/// then looks at its next, in turn; who looks in vain has used its turn up all the same.
class HostTurns {
 public:
  struct Host {
    bool is_staged = false;
    int pieces = 1;
    int parts = 1;  ///< of a move, one after the other: what other cores do meanwhile comes between
    int cores = 1;  ///< no more than ranks, of which neighbours share one
    /// By how much of itself, at most, what a core spends on switches and on what crosses differs from its price each
    /// time, alike on every machine: without it all are in step for ever, as no cores are.
    double straying = 0;
    double for_their_sake = 0;  ///< the part of what is taken back that is not, while no other core is busy
    /// The part of a crossing, of what a rank is shown that has a core alone, before which no switch ends.
    double before_switch = 1;
  };
  /// Of which rank a move is, in which operation and piece, through which slot of the staging area that passes, and
  /// whether this use of it is turned (StagingRing); and which part of the move.
  struct Where {
    int rank;
    int operation;
    int piece;
    std::size_t slot;
    std::uint64_t turn;
    int part;
  };
  /// Adds what a part of a move costs.
  using MoveCosts = std::function<void(const Plan::Move& move, const Where& where, HostCosts& costs)>;
  /// What ranks do before they meet at a barrier, outside of what is timed.
  using BeforeBarrier = std::function<void()>;

  /// `plans`, by rank, outlive it. `seconds`: what each cost takes.
  HostTurns(const std::vector<Plan>& plans, const Host& host, const HostCosts& seconds);

  /// What one operation of those counted costs, along the longest chain of what waited for what. Runs once.
  HostCosts run(const Length& length, const MoveCosts& move_costs, const BeforeBarrier& before_barrier = {});
  /// What the moves of one operation of those counted cost on all cores together, waited for or not.
  const HostCosts& of_all_cores() const { return of_all_cores_; }

 private:
  using Moment = lockstep::Moment<HostCosts>;
  struct Progress {
    int operation = -1;
    int ticks = 0;
    auto operator<=>(const Progress&) const = default;
  };
  struct Shown {
    Progress progress;
    Moment since;
  };
  struct Rank {
    std::vector<Shown> shown;  ///< ascending
    int operation = 0;
    int piece = 0;
    bool in_piece = false;
    std::size_t position = 0;  ///< in the plan's steps
    std::size_t move = 0;      ///< in the step
    int part = 0;              ///< of the move
    std::size_t slots_taken = 0;
    std::array<std::optional<Progress>, 2> slot_users;  ///< when the piece began that used a slot last
  };
  struct Waiting {
    const std::vector<Plan::Wait>* waits;
    Progress since;
  };
  /// What a core does next.
  struct Next {
    double seconds = 0;
    int rank = 0;
    int visits = 0;                  ///< of other ranks before
    std::optional<Moment> woken_by;  ///< where nobody could go on at once
    int woken = 0;                   ///< how many ranks can then
  };
  struct Core {
    Moment now;
    int current = 0;               ///< rank that ran last
    std::map<int, Progress> seen;  ///< of each peer, what this core has read
    std::optional<Next> next;
    bool is_stale = true;      ///< `next` may not hold any more
    bool was_watched = false;  ///< what it has shown since its last switch, so that its line is in another's cache
  };

  void run_until(int over, int operations, const MoveCosts& move_costs);
  Moment meet();
  int count() const { return static_cast<int>(ranks_.size()); }
  int core_of(int rank) const { return share_of(rank, count(), host_.cores); }
  int first_on_core(int core) const { return first_on(core, count(), host_.cores); }
  int ranks_on(int core) const;
  bool is_within_step(int rank) const;
  double strayed();
  double contention(const Core& core) const;
  void share_with_others(double contention, HostCosts& costs) const;
  void spend(Core& core, HostCosts::Cost cost, double amount);

  Waiting waiting_of(int rank) const;
  bool waits_for(int rank, int peer) const;
  std::optional<Moment> ready(int rank) const;
  std::optional<Next> next_of(int core) const;
  void go_on(int core, const MoveCosts& move_costs);
  void look(int core, int rank);
  bool is_watched(int rank) const;
  void act(int rank, const MoveCosts& move_costs);
  void run_part(int rank, const Plan::Step& step, const MoveCosts& move_costs);
  void enter_piece(int rank);
  void leave_piece(int rank);
  void show(int rank, std::size_t position);

  const std::vector<Plan>& plans_;
  Host host_;
  const HostCosts& seconds_;
  std::vector<Rank> ranks_;
  std::vector<Core> cores_;
  Length length_{};
  int operations_ = 0;  ///< that a rank may enter
  std::minstd_rand random_;
  HostCosts of_all_cores_;
  std::vector<Moment> ends_;  ///< of each operation, on the rank that was the last
};

}  // namespace lockstep
