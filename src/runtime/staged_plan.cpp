#include "runtime/plan.h"

#include "base/index.h"
#include "runtime/layout.h"
#include "runtime/plan_pieces.h"
#include "runtime/staging_rotations.h"
#include "runtime/versions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lockstep {

namespace {

int ticks_once_made(const Versions::Version& version) { return version.step + 1 + Plan::kTicksBeforeSteps; }
int ticks_once_taken_in(const Versions::Reader& reader) { return reader.step + 1 + Plan::kTicksBeforeSteps; }

class StagedPlanner {
 public:
  StagedPlanner(const Schedule& schedule, int rank)
      : view_(view_of(schedule, rank)),
        versions_(schedule),
        rotations_(schedule, versions_),
        finishing_(finishing_steps(view_)),
        plan_{.algorithm = schedule.name,
              .chunks = schedule.chunks,
              .ticks = static_cast<int>(schedule.steps.size()) + Plan::kTicksBeforeSteps,
              .staging_versions = most_read_versions(schedule),
              .rotations = {},
              .steps = {},
              .after = {},
              .after_turning = {},
              .after_all = {}} {
    plan_.weaves = only_trades(schedule);
  }

  Plan make() {
    show_what_peers_read();
    for (int step = 0; step < static_cast<int>(view_.steps.size()); ++step) add(step);
    finish();
    if (plan_.weaves) weave();
    return std::move(plan_);
  }

 private:
  /// One more than the highest number of a version that anybody reads.
  int most_read_versions(const Schedule& schedule) const {
    std::size_t most = 0;
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
        const auto& versions = versions_.of(rank, chunk);
        for (std::size_t number = most; number < versions.size(); ++number) {
          if (!versions[number].readers.empty()) most = number + 1;
        }
      }
    }
    return static_cast<int>(most);
  }

  void show_what_peers_read() {
    std::vector<Plan::Move> moves;
    for (int chunk = 0; chunk < view_.chunks; ++chunk) {
      if (versions_.of(view_.rank, chunk).front().readers.empty()) continue;
      const Plan::Place shown = staged({.rank = view_.rank, .chunk = chunk, .version = 0});
      moves.push_back({.chunk = chunk,
                       .operands = {own(Plan::Memory::kInput)},
                       .targets = {shown},
                       .takes_back = !shown.seat.rotates()});
    }
    if (!moves.empty()) plan_.steps.push_back({0, {}, std::move(moves)});
  }

  void add(int step) {
    Waits before(view_.rank);
    std::vector<Plan::Move> moves;
    for (const Intake& intake : intakes_of(view_.steps[static_cast<std::size_t>(step)].receives)) {
      for (const int source : intake.sources)
        before.add(source, ticks_once_made(versions_.before(source, intake.chunk, step)));
      moves.push_back(move_of(intake, step));
    }
    if (!moves.empty()) plan_.steps.push_back({step + Plan::kTicksBeforeSteps, before.take(), std::move(moves)});
  }

  Plan::Move move_of(const Intake& intake, int step) const {
    Plan::Move move{.chunk = intake.chunk, .operands = {}, .targets = {}};
    for (const int rank : combined_ranks(intake, view_.rank)) {
      const Plan::Stage value{.rank = rank, .chunk = intake.chunk, .version = versions_.at(rank, intake.chunk, step)};
      const auto own_memory = value.version == 0 ? Plan::Memory::kInput : Plan::Memory::kOutput;
      move.operands.push_back(rank == view_.rank ? own(own_memory) : staged(value));
    }
    const int made = versions_.at(view_.rank, intake.chunk, step + 1);
    if (is_read(intake.chunk, made)) {
      move.targets.push_back(staged({.rank = view_.rank, .chunk = intake.chunk, .version = made}));
      move.takes_back = !move.targets.back().seat.rotates();
    }
    // A sum that nobody uses is made all the same, where what comes after it will overwrite it.
    const bool is_of_use = !move.targets.empty();
    if (!is_of_use || stays_here(intake.chunk, made)) move.targets.push_back(own(Plan::Memory::kOutput));
    move.finishes = finishing_[static_cast<std::size_t>(intake.chunk)] == step;
    return move;
  }

  bool is_read(int chunk, int number) const {
    return !versions_.of(view_.rank, chunk)[static_cast<std::size_t>(number)].readers.empty();
  }
  Plan::Place own(Plan::Memory memory) const { return {view_.rank, memory, 0}; }
  Plan::Place staged(const Plan::Stage& value) const {
    return {value.rank, Plan::Memory::kStaging, value.version, rotations_.of(value)};
  }
  /// Whether a version that was made here is needed here: as the result, or since this rank adds to it. What it staged
  /// it does not read again: the lines would go back and forth between it and who reads them there.
  bool stays_here(int chunk, int number) const {
    const auto& all = versions_.of(view_.rank, chunk);
    if (at(number) + 1 == all.size()) return true;
    const auto& receives = view_.steps[at(all[at(number) + 1].step)].receives;
    return std::any_of(receives.begin(), receives.end(), [&](const Transfer& transfer) {
      return transfer.chunk == chunk && transfer.kind == TransferKind::kReduce;
    });
  }

  /// Whether all that the schedule does is that each rank stages values for one other, and writes the next ones where
  /// it has read: all weave or none.
  bool only_trades(const Schedule& schedule) const {
    if (schedule.steps.size() != 1) return false;
    std::set<int> takers;
    std::set<std::pair<int, int>> taken_in;
    for (const Transfer& transfer : schedule.steps.front()) {
      if (!rotations_.of({.rank = transfer.from, .chunk = transfer.chunk, .version = 0}).rotates()) return false;
      if (!taken_in.emplace(transfer.to, transfer.chunk).second) return false;
      takers.insert(transfer.to);
    }
    return static_cast<int>(takers.size()) == schedule.ranks;
  }

  /// Brings the moves of the first step into the order of those of the second that read where they write.
  void weave() {
    std::map<Plan::Stage, Plan::Move> by_next;
    for (Plan::Move& move : plan_.steps.front().moves) {
      const Plan::Stage next = rotations_.next({.rank = view_.rank, .chunk = move.chunk, .version = 0});
      by_next.emplace(next, std::move(move));
    }
    plan_.steps.front().moves.clear();
    for (const Plan::Move& last : plan_.steps.back().moves) {
      const auto read = std::find_if(last.operands.begin(), last.operands.end(),
                                     [this](const Plan::Place& place) { return place.rank != view_.rank; });
      plan_.steps.front().moves.push_back(
          std::move(by_next.at({.rank = read->rank, .chunk = last.chunk, .version = 0})));
    }
  }

  void await_readers_of(const Plan::Stage& value, Waits& waits) const {
    for (const auto& reader : versions_.of(value.rank, value.chunk)[at(value.version)].readers) {
      waits.add(reader.rank, ticks_once_taken_in(reader));
    }
  }

  /// The same plan writes each value where the next of its rotation lay, whichever turn it is; any other plan may write
  /// wherever this rank's places are, where any of their rotations may lie, and with rotations of its own wherever
  /// anybody's are.
  void finish() {
    plan_.rotations = rotations_.all();
    Waits after(view_.rank);
    Waits after_turning(view_.rank);
    for (int chunk = 0; chunk < view_.chunks; ++chunk) {
      for (int number = 0; number < static_cast<int>(versions_.of(view_.rank, chunk).size()); ++number) {
        const Plan::Stage value{.rank = view_.rank, .chunk = chunk, .version = number};
        if (!is_read(chunk, number)) continue;
        const Plan::Seat seat = rotations_.of(value);
        await_readers_of(rotations_.next(value), after_turning);
        await_readers_of(value, after);
        if (!seat.rotates()) continue;
        for (const Plan::Stage& other : plan_.rotations[at(seat.rotation)]) await_readers_of(other, after);
      }
    }
    plan_.after = after.take();
    plan_.after_turning = after_turning.take();
    for (int peer = 0; peer < view_.ranks; ++peer) {
      if (peer != view_.rank) plan_.after_all.push_back({peer, plan_.ticks});
    }
  }

  RankView view_;
  Versions versions_;
  StagingRotations rotations_;
  std::vector<int> finishing_;
  Plan plan_;
};

}  // namespace

Plan make_staged_plan(const Schedule& schedule, int rank) { return StagedPlanner(schedule, rank).make(); }

std::size_t Plan::slice_bytes(std::size_t chunk_bytes) const {
  constexpr std::size_t kLeastWoven = std::size_t{64} << 10;  // half as much twice takes longer than all at once
  const std::size_t most = std::max(Layout::kCacheLine, kPieceBytes / static_cast<std::size_t>(chunks));
  if (!weaves || chunk_bytes < 2 * kLeastWoven) return most;
  const std::size_t lines_of_two = (chunk_bytes / 2 + Layout::kCacheLine - 1) / Layout::kCacheLine;
  return std::min(most, lines_of_two * Layout::kCacheLine);
}

}  // namespace lockstep
