#include "runtime/plan.h"

#include "base/index.h"
#include "runtime/plan_pieces.h"
#include "runtime/staging_twins.h"
#include "runtime/versions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lockstep {

namespace {

// The first tick is the copy of what peers will read into staging; step i of the schedule is tick i + 2's.
constexpr int kTicksBeforeSteps = 1;

int ticks_once_made(const Versions::Version& version) { return version.step + 1 + kTicksBeforeSteps; }

class StagedPlanner {
 public:
  StagedPlanner(const Schedule& schedule, int rank)
      : view_(view_of(schedule, rank)),
        versions_(schedule),
        twins_(schedule, versions_),
        finishing_(finishing_steps(view_)),
        plan_{.algorithm = schedule.name,
              .chunks = schedule.chunks,
              .ticks = static_cast<int>(schedule.steps.size()) + kTicksBeforeSteps,
              .staging_versions = most_read_versions(schedule),
              .steps = {},
              .after = {}} {}

  Plan make(const Schedule& schedule) {
    show_what_peers_read();
    for (int step = 0; step < static_cast<int>(view_.steps.size()); ++step) add(step);
    finish();
    if (only_trades(schedule)) weave();
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
      moves.push_back({.chunk = chunk,
                       .operands = {own(Plan::Memory::kInput)},
                       .targets = {staged({.rank = view_.rank, .chunk = chunk, .version = 0})},
                       .transfers = {}});
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
    if (!moves.empty()) plan_.steps.push_back({step + kTicksBeforeSteps, before.take(), std::move(moves)});
  }

  Plan::Move move_of(const Intake& intake, int step) const {
    Plan::Move move{
        .chunk = intake.chunk, .operands = {}, .targets = {}, .transfers = transfers_of(intake, step, view_.rank)};
    for (const int rank : combined_ranks(intake, view_.rank)) {
      const Plan::Stage value{.rank = rank, .chunk = intake.chunk, .version = versions_.at(rank, intake.chunk, step)};
      move.operands.push_back(rank == view_.rank ? own_value(value) : staged(value));
    }
    const int made = versions_.at(view_.rank, intake.chunk, step + 1);
    const auto& all = versions_.of(view_.rank, intake.chunk);
    if (is_read(intake.chunk, made)) {
      move.targets.push_back(staged({.rank = view_.rank, .chunk = intake.chunk, .version = made}));
    }
    if (!is_read(intake.chunk, made) || made + 1 == static_cast<int>(all.size())) {
      move.targets.push_back(own(Plan::Memory::kOutput));
    }
    move.finishes = finishing_[static_cast<std::size_t>(intake.chunk)] == step;
    return move;
  }

  bool is_read(int chunk, int number) const {
    return !versions_.of(view_.rank, chunk)[static_cast<std::size_t>(number)].readers.empty();
  }
  Plan::Place own(Plan::Memory memory) const { return {view_.rank, memory, 0}; }
  Plan::Place staged(const Plan::Stage& value) const {
    return {value.rank, Plan::Memory::kStaging, value.version, twins_.of(value)};
  }
  /// Where this rank itself finds a version of its own.
  Plan::Place own_value(const Plan::Stage& value) const {
    if (value.version == 0) return own(Plan::Memory::kInput);
    return is_read(value.chunk, value.version) ? staged(value) : own(Plan::Memory::kOutput);
  }

  /// Whether all that the schedule does is that each rank trades values with another, so that all weave or none.
  bool only_trades(const Schedule& schedule) const {
    if (schedule.steps.size() != 1) return false;
    std::set<int> takers;
    std::set<std::pair<int, int>> taken_in;
    for (const Transfer& transfer : schedule.steps.front()) {
      if (!twins_.of({.rank = transfer.from, .chunk = transfer.chunk, .version = 0})) return false;
      if (!taken_in.emplace(transfer.to, transfer.chunk).second) return false;
      takers.insert(transfer.to);
    }
    return static_cast<int>(takers.size()) == schedule.ranks;
  }

  /// Brings the moves of the first step into the order of those of the second that read where they write.
  void weave() {
    plan_.weaves = true;
    std::map<Plan::Stage, Plan::Move> by_twin;
    for (Plan::Move& move : plan_.steps.front().moves) {
      const Plan::Stage twin = *move.targets.front().twin;
      by_twin.emplace(twin, std::move(move));
    }
    plan_.steps.front().moves.clear();
    for (const Plan::Move& last : plan_.steps.back().moves) {
      const Transfer& read = last.transfers.front().transfer;
      plan_.steps.front().moves.push_back(
          std::move(by_twin.at({.rank = read.from, .chunk = read.chunk, .version = 0})));
    }
  }

  /// When the rank that staged a value needs it itself no more: a sum goes into its next one.
  int ticks_once_replaced(const Plan::Stage& value) const {
    const auto& all = versions_.of(value.rank, value.chunk);
    const std::size_t next = at(value.version) + 1;
    return next < all.size() ? ticks_once_made(all[next]) : 0;
  }

  void finish() {
    Waits after(view_.rank);
    for (int chunk = 0; chunk < view_.chunks; ++chunk) {
      const auto& all = versions_.of(view_.rank, chunk);
      for (int number = 0; number < static_cast<int>(all.size()); ++number) {
        for (const auto& reader : all[at(number)].readers) after.add(reader.rank, reader.step + 1 + kTicksBeforeSteps);
        if (const auto twin = twins_.of({view_.rank, chunk, number})) after.add(twin->rank, ticks_once_replaced(*twin));
      }
    }
    plan_.after = after.take();
  }

  RankView view_;
  Versions versions_;
  StagingTwins twins_;
  std::vector<int> finishing_;
  Plan plan_;
};

}  // namespace

Plan make_staged_plan(const Schedule& schedule, int rank) { return StagedPlanner(schedule, rank).make(schedule); }

}  // namespace lockstep
