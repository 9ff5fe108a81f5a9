#include "runtime/plan.h"
#include "runtime/plan_pieces.h"
#include "runtime/versions.h"

namespace lockstep {

namespace {

int ticks_once_made(const Versions::Version& version) { return version.step + 1; }

class InPlacePlanner {
 public:
  InPlacePlanner(const Schedule& schedule, int rank)
      : schedule_(schedule),
        view_(view_of(schedule, rank)),
        versions_(schedule),
        finishing_(finishing_steps(view_)),
        plan_{.algorithm = schedule.name,
              .chunks = schedule.chunks,
              .ticks = static_cast<int>(schedule.steps.size()),
              .steps = {},
              .after = {},
              .after_turning = {},
              .after_all = {}} {}

  Plan make() {
    for (int step = 0; step < plan_.ticks; ++step) add(step);
    Waits after(view_.rank);
    for (int chunk = 0; chunk < view_.chunks; ++chunk) {
      for (const auto& version : versions_.of(view_.rank, chunk)) {
        for (const auto& reader : version.readers) after.add(reader.rank, reader.step + 1);
      }
    }
    plan_.after = after.take();
    return std::move(plan_);
  }

 private:
  void add(int step) {
    Waits before(view_.rank);
    std::vector<Plan::Move> moves;
    const auto intakes = intakes_of(view_.steps[static_cast<std::size_t>(step)].receives);
    for (const Intake& intake : intakes) {
      if (is_pushed(intake, step, view_.rank)) {
        before.add(intake.sources.front(), step);  // it came in the step before, from the rank that made it
        continue;
      }
      moves.push_back(move_of(intake, step, before));
    }
    if (!intakes.empty()) plan_.steps.push_back({step, before.take(), std::move(moves)});
  }

  Plan::Move move_of(const Intake& intake, int step, Waits& before) const {
    Plan::Move move{.chunk = intake.chunk, .operands = {}, .targets = {}};
    for (const int rank : combined_ranks(intake, view_.rank)) {
      move.operands.push_back(value_of(rank, intake.chunk, step));
      before.add(rank, ticks_once_made(versions_.before(rank, intake.chunk, step)));
    }
    move.targets.push_back({view_.rank, Plan::Memory::kOutput, 0});
    wait_for_readers(view_.rank, intake.chunk, step, before);
    move.finishes = finishing_[static_cast<std::size_t>(intake.chunk)] == step;
    if (intake.kind == TransferKind::kReduce) push(move, step, before);
    move.takes_back = std::any_of(move.targets.begin(), move.targets.end(), [&](const Plan::Place& target) {
      return is_read_by_others(target.rank, intake.chunk);
    });
    return move;
  }

  /// Adds the copies of the next step that can be made in this one.
  void push(Plan::Move& move, int step, Waits& before) const {
    if (step + 1 >= plan_.ticks) return;
    for (const Transfer& sent : view_.steps[static_cast<std::size_t>(step) + 1].sends) {
      if (sent.chunk != move.chunk || !is_pushed({sent.kind, sent.chunk, {sent.from}}, step + 1, sent.to)) continue;
      move.targets.push_back({sent.to, Plan::Memory::kOutput, 0});
      before.add(sent.to, ticks_once_made(versions_.before(sent.to, sent.chunk, step)));
      wait_for_readers(sent.to, sent.chunk, step, before);
    }
  }

  /// Whether a copy to `to` in this step is made by the rank that sends it, in the step before: it makes the value
  /// there by a reduction, and whatever it overwrites is read by nobody else from then on. Both ends must answer alike,
  /// so this looks at the whole schedule.
  bool is_pushed(const Intake& copy, int step, int to) const {
    if (copy.kind != TransferKind::kCopy || step == 0) return false;
    const int from = copy.sources.front();
    const auto& made = versions_.before(from, copy.chunk, step);
    if (made.step != step - 1 || !is_reduced(from, copy.chunk, step - 1)) return false;
    const auto& overwritten = versions_.before(to, copy.chunk, step);
    if (overwritten.step == step - 1) return false;
    return std::all_of(overwritten.readers.begin(), overwritten.readers.end(),
                       [&](const Versions::Reader& reader) { return reader.step < step - 1 || reader.rank == from; });
  }

  /// Whether another rank than this one reads, at any time, what the chunk holds on `rank`; what is pushed to it, it
  /// does not read.
  bool is_read_by_others(int rank, int chunk) const {
    const auto reads = [&](const Versions::Reader& reader) {
      if (reader.rank == view_.rank) return false;
      return is_reduced(reader.rank, chunk, reader.step) ||
             !is_pushed({TransferKind::kCopy, chunk, {rank}}, reader.step, reader.rank);
    };
    const auto& versions = versions_.of(rank, chunk);
    return std::any_of(versions.begin(), versions.end(), [&](const Versions::Version& version) {
      return std::any_of(version.readers.begin(), version.readers.end(), reads);
    });
  }

  bool is_reduced(int rank, int chunk, int step) const {
    const Step& transfers = schedule_.steps[static_cast<std::size_t>(step)];
    return std::any_of(transfers.begin(), transfers.end(), [&](const Transfer& transfer) {
      return transfer.kind == TransferKind::kReduce && transfer.to == rank && transfer.chunk == chunk;
    });
  }

  void wait_for_readers(int rank, int chunk, int step, Waits& before) const {
    for (const auto& reader : versions_.before(rank, chunk, step).readers) {
      if (reader.step < step) before.add(reader.rank, reader.step + 1);
    }
  }

  Plan::Place value_of(int rank, int chunk, int step) const {
    const bool first = versions_.at(rank, chunk, step) == 0;
    return {rank, first ? Plan::Memory::kInput : Plan::Memory::kOutput, 0};
  }

  const Schedule& schedule_;
  RankView view_;
  Versions versions_;
  std::vector<int> finishing_;
  Plan plan_;
};

}  // namespace

Plan make_in_place_plan(const Schedule& schedule, int rank) { return InPlacePlanner(schedule, rank).make(); }

bool runs_in_place(const Schedule& schedule) {
  const Versions versions(schedule);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const auto& all = versions.of(rank, chunk);
      for (std::size_t number = 0; number + 1 < all.size(); ++number) {
        const int written = all[number + 1].step;
        if (std::any_of(all[number].readers.begin(), all[number].readers.end(),
                        [&](const Versions::Reader& reader) { return reader.step >= written; })) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace lockstep
