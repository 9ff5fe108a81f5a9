// The catalogue against the proof, and the proof against changes of the catalogue's schedules.
#include "schedule/proof.h"

#include "algorithms/every_request_for_tests.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/view.h"

#include <gmock/gmock.h>

namespace lockstep {

namespace {

void expect_proved(const Algorithm& algorithm, const ScheduleRequest& request) {
  const Proof proof = prove(algorithm.build(request));
  EXPECT_TRUE(proof.proved()) << describe(proof.refusal.value_or(Refusal{}));
}

/// Every schedule that differs from `schedule` in one transfer, with words for the difference.
template <class Use>
void for_each_mutant(const Schedule& schedule, const Use& use) {
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (std::size_t i = 0; i < schedule.steps[step].size(); ++i) {
      const Transfer transfer = schedule.steps[step][i];
      const auto with = [&](std::string_view change, const auto& edit) {
        Schedule mutant = schedule;
        edit(mutant);
        use(change, mutant);
      };
      const auto drop = [&](Schedule& mutant) {
        mutant.steps[step].erase(mutant.steps[step].begin() + static_cast<std::ptrdiff_t>(i));
      };
      with("dropped", drop);
      with("doubled", [&](Schedule& mutant) { mutant.steps[step].push_back(transfer); });
      with("reversed", [&](Schedule& mutant) { std::swap(mutant.steps[step][i].from, mutant.steps[step][i].to); });
      with("of the other kind", [&](Schedule& mutant) {
        mutant.steps[step][i].kind = transfer.kind == TransferKind::kCopy ? TransferKind::kReduce : TransferKind::kCopy;
      });
      for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
        if (chunk == transfer.chunk) continue;
        with("of another chunk", [&](Schedule& mutant) { mutant.steps[step][i].chunk = chunk; });
      }
      for (int rank = 0; rank < schedule.ranks; ++rank) {
        if (rank != transfer.to) with("to another rank", [&](Schedule& mutant) { mutant.steps[step][i].to = rank; });
      }
      for (std::size_t other = 0; other < schedule.steps.size(); ++other) {
        if (other == step) continue;
        with("moved", [&](Schedule& mutant) {
          drop(mutant);
          mutant.steps[other].push_back(transfer);
        });
      }
    }
  }
}

/// Runs the schedule as a runtime does that reads views only: sums are finished (here: marked) where finishing_steps
/// says, and whoever is promised a chunk must end with exactly one mark.
bool finishes_once(const Schedule& schedule) {
  std::vector<std::vector<int>> finishing;
  for (int rank = 0; rank < schedule.ranks; ++rank) finishing.push_back(finishing_steps(view_of(schedule, rank)));
  std::vector<std::vector<int>> marks(schedule.ranks, std::vector<int>(schedule.chunks));
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const auto& [kind, chunk, from, to] : schedule.steps[step]) {
      if (kind == TransferKind::kCopy) marks[to][chunk] = marks[from][chunk];
      if (kind == TransferKind::kReduce && marks[from][chunk] != 0) return false;  // finished too early
    }
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
        if (finishing[rank][chunk] == static_cast<int>(step)) ++marks[rank][chunk];
      }
    }
  }
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      if (concrete::is_promised(schedule, rank, chunk) && marks[rank][chunk] != 1) return false;
    }
  }
  return true;
}

}  // namespace

TEST(ProofOfTheCatalogue, HoldsForEveryAlgorithmCollectiveAndNumberOfRanks) { for_each_request(17, expect_proved); }

TEST(ProofOfTheCatalogue, HoldsForMoreRanks) {
  for (const int ranks : {24, 32, 64}) {
    for_each_request_on(ranks, [](const Algorithm& algorithm, const ScheduleRequest& request) {
      if (request.root == 0 || request.root == request.ranks - 1) expect_proved(algorithm, request);
    });
  }
}

TEST(ProofOfTheCatalogue, ViewsAgreePairByPair) {
  for_each_request(6, [](const Algorithm& algorithm, const ScheduleRequest& request) {
    const auto views = views_of(algorithm.build(request));
    for (const RankView& a : views) {
      EXPECT_EQ(a, view_of(algorithm.build(request), a.rank));
      for (const RankView& b : views) EXPECT_EQ(first_disagreement(a, b), std::nullopt);
    }
  });
}

TEST(ProofOfTheCatalogue, ViewsFinishEachPromisedChunkOnce) {
  for_each_request(9, [](const Algorithm& algorithm, const ScheduleRequest& request) {
    if (!is_reduction(request.collective) || request.ranks == 1) return;
    EXPECT_TRUE(finishes_once(algorithm.build(request)));
  });
}

TEST(ProofOfTheCatalogue, RefusesEveryWrongChangeOfOneTransfer) {
  int refused = 0;
  int equivalent = 0;
  for_each_request(5, [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    for_each_mutant(algorithm.build(request), [&](std::string_view change, const Schedule& mutant) {
      const Proof proof = prove(mutant);
      if (!proof.proved()) {
        ++refused;
        EXPECT_THAT(proof.refusal->sentence, ::testing::Not(::testing::IsEmpty()));
        return;
      }
      ++equivalent;
      EXPECT_TRUE(concrete::delivers(mutant)) << "proved, with one transfer " << change;
      EXPECT_TRUE(!is_reduction(request.collective) || finishes_once(mutant)) << "one transfer " << change;
      EXPECT_NE(change, "dropped") << "the schedule had a transfer for nothing";
      EXPECT_NE(change, "doubled");
      EXPECT_NE(change, "of the other kind");
    });
  });
  // Both kinds exist: a chunk may well be copied a step later.
  EXPECT_GT(refused, 10000);
  EXPECT_GT(equivalent, 100);
  RecordProperty("refused", refused);
  RecordProperty("equivalent", equivalent);
}

TEST(ProofOfTheCatalogue, TheTreeSumsInPairs) {
  const Proof proof = prove(find_algorithm("tree").build({.ranks = 8}));
  ASSERT_EQ(proof.orders.size(), 1U);
  EXPECT_EQ(proof.orders[0].expression, "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

TEST(ProofOfTheCatalogue, TheRingSumsEachChunkFromAnotherRankOn) {
  const Proof proof = prove(find_algorithm("ring").build({.ranks = 4}));
  ASSERT_EQ(proof.orders.size(), 4U);
  EXPECT_EQ(proof.orders[0].expression, "(0+((1+2)+3))");
}

}  // namespace lockstep
