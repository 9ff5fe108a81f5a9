#include "planner/one_host/host_work.h"

#include "base/index.h"
#include "planner/network/count.h"
#include "planner/one_host/around_size.h"
#include "planner/one_host/host_caches.h"
#include "planner/one_host/host_turns.h"
#include "planner/one_host/timed_batch.h"
#include "runtime/letter_operation.h"
#include "runtime/shared_memory_operation.h"
#include "runtime/staging_ring.h"
#include "topology/dealing.h"
#include "transport/shm/letterbox.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace lockstep {

namespace {

/// How an operation's buffers are cut: into pieces that pass through the staging area, and each of a chunk's pieces
/// into blocks for the caches.
struct Cut {
  int pieces = 1;    ///< that are run
  double scale = 1;  ///< of how many in all each of them stands for
  int blocks = 1;
  double block_bytes = 0;
};

Cut cut_of(const HostJob& job, double bytes) {
  constexpr int kBlocks = 4;
  constexpr int kManyChunks = 16;      // which are small enough as they are
  constexpr double kMostPieces = 256;  // beyond, they are all alike
  const double chunk = chunk_bytes(job.schedule, bytes);
  const auto slice = static_cast<double>(job.plans.front().slice_bytes(static_cast<std::size_t>(chunk)));
  const double pieces = job.is_staged ? std::max(1.0, std::ceil(chunk / slice)) : 1;
  const double run = std::min(pieces, kMostPieces);
  const int blocks = job.plans.front().chunks > kManyChunks ? 1 : std::max(1, kBlocks / static_cast<int>(run));
  return {static_cast<int>(run), pieces / run, blocks, chunk / pieces / blocks};
}

/// What the moves of plans touch, as blocks of the caches.
class Memory {
 public:
  Memory(const HostJob& job, const Cut& cut, const Machine& machine, int cores, double touched_between)
      : job_(job),
        cut_(cut),
        cores_(cores),
        touched_between_(touched_between),
        keeps_input_(job.schedule.collective == Collective::kAllToAll),
        chunks_(job.plans.front().chunks),
        places_a_rank_(buffers() * cut.pieces * chunks_ + staged_chunks()),
        operations_(at(job.schedule.ranks)),
        caches_(machine, cores, at(job.schedule.ranks) * at(places_a_rank_) * at(cut.blocks), cut.block_bytes) {
    for (std::size_t block = 0; block < at(job.schedule.ranks) * blocks_a_rank(); ++block) {
      caches_.give(block, core_of(static_cast<int>(block / blocks_a_rank())));
    }
  }

  /// Every rank writes its buffers, cores side by side, and on each of them one rank after the other.
  void fill() {
    const int ranks = job_.schedule.ranks;
    const std::vector<std::size_t> blocks = blocks_by_address();
    for (int turn = 0; turn < (ranks + cores_ - 1) / cores_; ++turn) {
      for (const std::size_t block : blocks) {
        for (int core = 0; core < cores_; ++core) {
          const int rank = first_on(core, ranks, cores_) + turn;
          if (rank < first_on(core + 1, ranks, cores_)) caches_.write(core, at(rank) * blocks_a_rank() + block);
        }
      }
    }
  }

  void move(const Plan::Move& move, const HostTurns::Where& where, std::size_t past_caches, HostCosts& costs) {
    int& operation = operations_[at(where.rank)];
    if (operation != where.operation) caches_.touch_others(core_of(where.rank), touched_between_);
    operation = where.operation;
    accesses_.clear();
    const auto access = [&](const Plan::Place& place) -> HostCaches::Access& {
      const std::size_t block = block_of(place, move.chunk, where);
      costs[HostCosts::kByte] += cut_.block_bytes;
      for (HostCaches::Access& one : accesses_) {
        if (one.block == block) return one;
      }
      return accesses_.emplace_back(HostCaches::Access{.block = block});
    };
    for (const Plan::Place& place : move.operands) access(place).reads = true;
    for (std::size_t i = 0; i < move.targets.size(); ++i) {
      HostCaches::Access& target = access(move.targets[i]);
      target.writes = true;
      target.past_caches = i < past_caches;
    }
    const int core = core_of(where.rank);
    const auto waits = [&](const HostCaches::Access& one) {
      return one.reads && caches_.waits_for_memory(core, one.block);
    };
    if (where.part == 0 && std::any_of(accesses_.begin(), accesses_.end(), waits)) ++costs[HostCosts::kFromMemory];
    caches_.pass(core, accesses_, costs);
  }

 private:
  int core_of(int rank) const { return share_of(rank, job_.schedule.ranks, cores_); }
  /// Input and output are one buffer but in an all_to_all.
  int buffers() const { return keeps_input_ ? 2 : 1; }
  int staged_chunks() const {
    return job_.is_staged ? static_cast<int>(StagingRing::kSlots) * job_.plans.front().staging_versions * chunks_ : 0;
  }
  std::size_t blocks_a_rank() const { return at(places_a_rank_) * at(cut_.blocks); }
  /// Of a rank's buffers, in order.
  std::vector<std::size_t> blocks_by_address() const {
    std::vector<std::size_t> blocks;
    blocks.reserve(at(buffers() * cut_.pieces * chunks_ * cut_.blocks));
    for (int buffer = 0; buffer < buffers(); ++buffer) {
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        for (int piece = 0; piece < cut_.pieces; ++piece) {
          for (int part = 0; part < cut_.blocks; ++part)
            blocks.push_back(at(index_in_buffers(buffer, piece, chunk)) * at(cut_.blocks) + at(part));
        }
      }
    }
    return blocks;
  }
  /// Of the places of a rank, which staged ones follow.
  int index_in_buffers(int buffer, int piece, int chunk) const {
    return (buffer * cut_.pieces + piece) * chunks_ + chunk;
  }

  std::size_t block_of(const Plan::Place& place, int chunk, const HostTurns::Where& where) const {
    int rank = place.rank;
    int index = 0;
    if (place.memory == Plan::Memory::kStaging) {
      const int versions = job_.plans.front().staging_versions;
      const Plan::Stage stage = job_.plans.front().stage_of(place, chunk, where.turn);
      rank = stage.rank;
      index = buffers() * cut_.pieces * chunks_ + (static_cast<int>(where.slot) * versions + stage.version) * chunks_ +
              stage.chunk;
    } else {
      const int buffer = keeps_input_ && place.memory == Plan::Memory::kInput ? 1 : 0;
      index = index_in_buffers(buffer, where.piece, chunk);
    }
    return at(rank) * blocks_a_rank() + at(index) * at(cut_.blocks) + at(where.part);
  }

  const HostJob& job_;
  const Cut& cut_;
  int cores_;
  double touched_between_;
  bool keeps_input_;
  int chunks_;
  int places_a_rank_;
  std::vector<int> operations_;  ///< by rank: which it moves in
  HostCaches caches_;
  std::vector<HostCaches::Access> accesses_;
};

constexpr double kStraying = 0.3;

/// The part of what is taken back that is not while no other core is busy.
constexpr double kForTheirSake = 0.5;

/// How much of a crossing a switch has to wait for: the rest has passed while it began.
constexpr double kBeforeSwitch = 0.7;

/// Small operations overlap, and more of them are needed until it no longer matters who came first by chance.
constexpr Length kManySmall{4, 16};

/// Of so many one operation is like the next, and begins while the last has hardly ended.
constexpr int kManyPieces = 4;

Length length_of(const Cut& cut, double bytes) {
  constexpr double kLarge = 1 << 20;
  if (cut.pieces > kManyPieces) return {1, 1};
  return bytes > kLarge ? Length{1, 2} : kManySmall;
}

int cores_of(const HostJob& job, const Machine& machine) { return std::clamp(machine.cores, 1, job.schedule.ranks); }

HostCosts work_of_letters(const HostJob& job, double bytes, int cores, const HostCosts& seconds) {
  const int ranks = job.schedule.ranks;
  const HostTurns::Host host{
      .is_staged = true, .pieces = 1, .cores = cores, .straying = kStraying, .before_switch = kBeforeSwitch};
  HostTurns turns(job.plans, host, seconds);
  HostCosts costs = turns.run(kManySmall, [](const Plan::Move&, const HostTurns::Where&, HostCosts&) {});
  const double switches = costs[HostCosts::kSwitch];
  costs = {};
  costs[HostCosts::kSwitch] = switches;
  // As HostTurns has it of progress: what a rank with a core alone looks for has crossed before a switch.
  const bool is_looked_for = cores < ranks && has_core_alone({ranks - 1, ranks}, cores);
  costs[HostCosts::kLetter] = 1 + (is_looked_for ? kBeforeSwitch * switches : 0);
  const int of_others = ranks - (ranks + cores - 1) / cores;
  costs[HostCosts::kLetterByte] = bytes * of_others;
  return costs;
}

constexpr std::size_t kLevelsEnd = HostCosts::kFirstLevel + HostCosts::kLevels;

/// Bytes that come from memory or go there: what the shared cache has lost, level by level, and what goes past it.
double through_memory(const HostCosts& costs) {
  double lost = 0;
  for (std::size_t level = HostCosts::kMemoryByte; level < kLevelsEnd; ++level) lost += costs[level];
  return lost / (kLevelsEnd - HostCosts::kMemoryByte) + costs[HostCosts::kStreamedByte];
}

/// What a core brings from memory counts as if all cores had the same part of it: they share the memory's bus. What a
/// core writes past the caches is its own, since no more of it can be on its way than a core has buffers for.
void share_memory(const HostCosts& of_all_cores, int cores, HostCosts& costs) {
  for (std::size_t level = HostCosts::kMemoryByte; level < kLevelsEnd; ++level)
    costs[level] = of_all_cores[level] / cores;
}

HostCosts work_of_plans(const HostJob& job, const HostOperation& operation, const Machine& machine,
                        const HostCosts& seconds) {
  const double bytes = operation.bytes;
  const int cores = cores_of(job, machine);
  const Cut cut = cut_of(job, bytes);
  const WritePolicy write_policy(caches_of(machine), job.is_staged,
                                 static_cast<std::size_t>(bytes * job.schedule.ranks));
  const HostTurns::Host host{.is_staged = job.is_staged,
                             .pieces = cut.pieces,
                             .parts = cut.blocks,
                             .cores = cores,
                             .straying = kStraying,
                             .for_their_sake = kForTheirSake,
                             .before_switch = kBeforeSwitch};
  const auto run = [&](const Length& length) {
    Memory memory(job, cut, machine, cores, operation.touched_between);
    HostTurns turns(job.plans, host, seconds);
    const auto move_costs = [&](const Plan::Move& move, const HostTurns::Where& where, HostCosts& spent) {
      const auto moved = static_cast<std::size_t>(cut.block_bytes * cut.blocks);
      if (where.part == 0) ++spent[HostCosts::kMove];
      memory.move(move, where, write_policy.of(move, moved).past_caches, spent);
    };
    HostCosts costs = turns.run(length, move_costs, [&] { memory.fill(); });
    costs[HostCosts::kTogetherByte] = through_memory(turns.of_all_cores());
    share_memory(turns.of_all_cores(), cores, costs);
    return costs;
  };
  const Length steady = length_of(cut, bytes);
  HostCosts costs = cut.pieces > kManyPieces ? run(steady) : as_timed(steady, seconds, run);
  for (double& amount : costs.values) amount *= cut.scale;
  return costs;
}

/// From which size on results go past the caches is known to the byte (WritePolicy), so that nothing beyond it tells of
/// a size before: `size`, around `bytes`, is taken as the nearest on its side, in proportion.
HostCosts on_the_side_of(double bytes, double size, double most_cached, const std::function<HostCosts(double)>& work) {
  const double nearest = bytes > most_cached ? std::max(size, most_cached + 1) : std::min(size, most_cached);
  HostCosts costs = work(nearest);
  if (nearest == size) return costs;
  for (double& amount : costs.values) amount *= size / nearest;
  return costs;
}

int longest_letter(const Schedule& schedule) {
  int most = 0;
  if (!is_one_exchange(schedule)) return most;
  for (const ChunkRange& letter : letter_chunks(schedule)) most = std::max(most, letter.end - letter.first);
  return most;
}

std::vector<Plan> plans_of(const Schedule& schedule, bool in_place) {
  std::vector<Plan> plans;
  plans.reserve(at(schedule.ranks));
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    plans.push_back(in_place ? make_in_place_plan(schedule, rank) : make_staged_plan(schedule, rank));
  }
  return plans;
}

}  // namespace

double most_letter_bytes(const Schedule& schedule) {
  const int chunks = longest_letter(schedule);
  return chunks == 0 ? 0 : shm::Letterbox::kBytes / (chunks * chunk_bytes(schedule, 1));
}

HostJob::HostJob(Schedule of)
    : schedule(std::move(of)),
      is_staged(!runs_in_place(schedule)),
      most_letter_bytes(lockstep::most_letter_bytes(schedule)),
      plans(plans_of(schedule, !is_staged)) {}

HostCosts work_of(const HostJob& job, const HostOperation& operation, const Machine& machine,
                  const HostCosts& seconds) {
  const double bytes = operation.bytes;
  if (job.most_letter_bytes > 0 && bytes <= job.most_letter_bytes) {
    const double letter_bytes = shm::Letterbox::kBytes * bytes / job.most_letter_bytes;
    return work_of_letters(job, letter_bytes, cores_of(job, machine), seconds);
  }
  const auto of_plans = [&](double size) {
    return work_of_plans(job, {size, operation.touched_between}, machine, seconds);
  };
  // What is staged goes in pieces: how many there are, and so what is in step, is known.
  if (job.is_staged) return of_plans(bytes);
  const double most_cached = most_cached_bytes(machine, job.schedule.ranks);
  return mean_around(bytes, [&](double size) { return on_the_side_of(bytes, size, most_cached, of_plans); });
}

}  // namespace lockstep
