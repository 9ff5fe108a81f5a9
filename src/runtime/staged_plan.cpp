#include "runtime/plan.h"
#include "runtime/plan_pieces.h"
#include "runtime/versions.h"

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
        finishing_(finishing_steps(view_)),
        plan_{.algorithm = schedule.name,
              .chunks = schedule.chunks,
              .ticks = static_cast<int>(schedule.steps.size()) + kTicksBeforeSteps,
              .staging_versions = most_read_versions(schedule),
              .steps = {},
              .after = {}} {}

  Plan make() {
    show_what_peers_read();
    for (int step = 0; step < static_cast<int>(view_.steps.size()); ++step) add(step);
    finish();
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
                       .operands = {{view_.rank, Plan::Memory::kInput, 0}},
                       .targets = {{view_.rank, Plan::Memory::kStaging, 0}},
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
      const int number = versions_.at(rank, intake.chunk, step);
      move.operands.push_back(
          {rank, rank == view_.rank ? own_memory(intake.chunk, number) : Plan::Memory::kStaging, number});
    }
    const int made = versions_.at(view_.rank, intake.chunk, step + 1);
    const auto& own = versions_.of(view_.rank, intake.chunk);
    if (is_read(intake.chunk, made)) move.targets.push_back({view_.rank, Plan::Memory::kStaging, made});
    if (!is_read(intake.chunk, made) || made + 1 == static_cast<int>(own.size())) {
      move.targets.push_back({view_.rank, Plan::Memory::kOutput, 0});
    }
    move.finishes = finishing_[static_cast<std::size_t>(intake.chunk)] == step;
    return move;
  }

  bool is_read(int chunk, int number) const {
    return !versions_.of(view_.rank, chunk)[static_cast<std::size_t>(number)].readers.empty();
  }
  /// Where this rank itself finds a version of its own.
  Plan::Memory own_memory(int chunk, int number) const {
    if (number == 0) return Plan::Memory::kInput;
    return is_read(chunk, number) ? Plan::Memory::kStaging : Plan::Memory::kOutput;
  }

  void finish() {
    Waits after(view_.rank);
    for (int chunk = 0; chunk < view_.chunks; ++chunk) {
      for (const auto& version : versions_.of(view_.rank, chunk)) {
        for (const auto& reader : version.readers) after.add(reader.rank, reader.step + 1 + kTicksBeforeSteps);
      }
    }
    plan_.after = after.take();
  }

  RankView view_;
  Versions versions_;
  std::vector<int> finishing_;
  Plan plan_;
};

}  // namespace

Plan make_staged_plan(const Schedule& schedule, int rank) { return StagedPlanner(schedule, rank).make(); }

}  // namespace lockstep
