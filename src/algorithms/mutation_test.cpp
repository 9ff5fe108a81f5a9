// The proof against every change of one transfer: refused, or shown on numbers to make no difference.
#include "algorithms/every_request_for_tests.h"
#include "algorithms/finishing_for_tests.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/proof.h"
#include "schedule/segmented.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace lockstep {

namespace {

/// One transfer of a schedule, and where it stands.
struct Place {
  std::size_t step;
  std::size_t index;
  Transfer transfer;

  Transfer& in(Schedule& schedule) const { return schedule.steps[step][index]; }
  void drop_from(Schedule& schedule) const {
    schedule.steps[step].erase(schedule.steps[step].begin() + static_cast<std::ptrdiff_t>(index));
  }
};

/// Every schedule that differs from `schedule` in this transfer, with a word for the difference.
template <class Use>
void for_each_change(const Schedule& schedule, const Place& place, const Use& use) {
  const Transfer transfer = place.transfer;
  const auto with = [&](std::string_view change, const auto& edit) {
    Schedule mutant = schedule;
    edit(mutant);
    use(change, place, mutant);
  };
  with("dropped", [&](Schedule& mutant) { place.drop_from(mutant); });
  with("doubled", [&](Schedule& mutant) { mutant.steps[place.step].push_back(transfer); });
  with("reversed", [&](Schedule& mutant) { std::swap(place.in(mutant).from, place.in(mutant).to); });
  with("of the other kind", [&](Schedule& mutant) {
    place.in(mutant).kind = transfer.kind == TransferKind::kCopy ? TransferKind::kReduce : TransferKind::kCopy;
  });
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    if (chunk != transfer.chunk) with("of another chunk", [&](Schedule& mutant) { place.in(mutant).chunk = chunk; });
  }
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (rank != transfer.to) with("to another rank", [&](Schedule& mutant) { place.in(mutant).to = rank; });
    if (rank != transfer.from) with("from another rank", [&](Schedule& mutant) { place.in(mutant).from = rank; });
  }
  for (std::size_t other = 0; other <= schedule.steps.size(); ++other) {
    if (other == place.step) continue;
    with("moved", [&](Schedule& mutant) {
      mutant.steps.resize(std::max(mutant.steps.size(), other + 1));  // or after all steps
      place.drop_from(mutant);
      mutant.steps[other].push_back(transfer);
    });
    with("repeated", [&](Schedule& mutant) {
      mutant.steps.resize(std::max(mutant.steps.size(), other + 1));
      mutant.steps[other].push_back(transfer);
    });
  }
}

/// The first step that is not as it was.
int first_changed_step(const Schedule& schedule, const Schedule& mutant) {
  const auto differ =
      std::mismatch(schedule.steps.begin(), schedule.steps.end(), mutant.steps.begin(), mutant.steps.end());
  return static_cast<int>(differ.second - mutant.steps.begin());
}

/// Chunks are proved each for itself, and what the steps before the change do was proved: the refusal names a chunk
/// that the transfer moves or moved, and a step in which something is otherwise, or what follows from it shows.
void expect_placed(const Refusal& refusal, std::string_view change, const Place& place, const Schedule& schedule,
                   const Schedule& mutant) {
  const auto what = [&] { return std::string(change) + ": " + describe(refusal); };
  const bool is_of_new_chunk =
      change == "of another chunk" && refusal.chunk == mutant.steps[place.step][place.index].chunk;
  EXPECT_TRUE(refusal.chunk == place.transfer.chunk || is_of_new_chunk) << what();
  EXPECT_GE(refusal.step, first_changed_step(schedule, mutant)) << what();
  EXPECT_LT(refusal.step, static_cast<int>(mutant.steps.size())) << what();
  EXPECT_TRUE(refusal.rank >= 0 && refusal.rank < mutant.ranks) << what();
  if (change != "doubled") return;
  EXPECT_EQ(refusal.step, static_cast<int>(place.step)) << "where both are";
  EXPECT_EQ(refusal.rank, place.transfer.to) << "who is sent both";
}

/// What became of all changes.
struct Tally {
  int refused = 0;
  int equivalent = 0;
};

void try_all_changes(const Schedule& schedule, Tally& tally) {
  // No catalogued schedule has a transfer for nothing, so one less or one more always makes a difference.
  // A barrier may hear from somebody by way of several, or again later: only the same twice in a step is never right.
  static const std::set<std::string_view> kNeverEquivalent{"dropped", "doubled", "repeated", "of the other kind"};
  const auto judge = [&](std::string_view change, const Place& place, const Schedule& mutant) {
    const Proof proof = prove(mutant);
    if (!proof.proved()) {
      ++tally.refused;
      expect_placed(*proof.refusal, change, place, schedule, mutant);
      return;
    }
    ++tally.equivalent;
    EXPECT_TRUE(concrete::delivers(mutant)) << "proved, with one transfer " << change;
    const concrete::Bits bits = concrete::bits_of(mutant);
    EXPECT_TRUE(bits.equal_on_all_ranks) << change;
    EXPECT_EQ(bits.canonical, proof.canonical) << change;
    EXPECT_EQ(bits.canonical_in_16_bits, proof.canonical_in_16_bits) << change;
    EXPECT_TRUE(!sums_values(mutant.collective) || finishes_once(mutant)) << change;
    const bool is_barrier = mutant.collective == Collective::kBarrier;
    EXPECT_FALSE(is_barrier ? change == "doubled" : kNeverEquivalent.contains(change)) << change;
  };
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (std::size_t i = 0; i < schedule.steps[step].size(); ++i) {
      for_each_change(schedule, {step, i, schedule.steps[step][i]}, judge);
    }
  }
}

class MutationOf : public ::testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(MutationOf, IsRefusedWithRankChunkAndStepOrMakesNoDifference) {
  const Algorithm algorithm = find_algorithm(GetParam());
  Tally tally;
  for (int ranks = 2; ranks <= 5; ++ranks) {
    for_each_request_of(algorithm, ranks, [&](const ScheduleRequest& request) {
      const Schedule schedule = algorithm.build(request);
      if (schedule.chunks <= 10 || request.root == 0) try_all_changes(schedule, tally);
      if (ranks <= 3) try_all_changes(segmented(schedule, 2), tally);
      if (ranks == 2) try_all_changes(segmented(schedule, 3), tally);
    });
  }
  EXPECT_GT(tally.refused, 100);
  RecordProperty("refused", tally.refused);
  RecordProperty("equivalent", tally.equivalent);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, MutationOf, ::testing::ValuesIn(names_of_algorithms()), test_name);

/// Where all hosts have as many ranks, slices are shared out otherwise than on the hosts of three above.
TEST(MutationOfComposed, OnTwoEqualHostsIsRefusedToo) {
  for (const char* parts : {"direct,ring", "recursive_doubling,recursive_doubling"}) {
    const Algorithm algorithm = find_algorithm("hierarchical:" + std::string(parts));
    for (const std::vector<int>& hosts : {std::vector<int>{0, 0, 1, 1}, {0, 1, 0, 1}}) {
      SCOPED_TRACE(::testing::PrintToString(hosts));
      Tally tally;
      for_each_request_of(algorithm, 4, [&](ScheduleRequest request) {
        request.hosts = hosts;
        for (const int segments : {1, 2}) try_all_changes(segmented(algorithm.build(request), segments), tally);
      });
      EXPECT_GT(tally.refused, 100);
    }
  }
}

}  // namespace lockstep
