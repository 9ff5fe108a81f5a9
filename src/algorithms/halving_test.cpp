#include "algorithms/halving.h"

#include "algorithms/shape_for_tests.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::algorithm {

namespace {

/// Where the steps from `step` on lead, one after the other.
std::set<int> followed(Partner partner, int me, int step, int size) {
  if (1 << step == size) return {me};
  std::set<int> reached = followed(partner, me, step + 1, size);
  reached.merge(followed(partner, partner(me, step, size), step + 1, size));
  return reached;
}

std::set<int> told(const Reach& reach, int size) {
  std::set<int> reached;
  for (int base = 0; base < size; base += reach.period) reached.insert({base + reach.first, base + reach.second});
  return reached;
}

}  // namespace

TEST(Halving, PartnersAreEachOthers) {
  for (const Partner partner : {bit_partner, swing_partner}) {
    for (int size = 2; size <= 256; size *= 2) {
      for (int step = 0; 1 << step < size; ++step) {
        for (int me = 0; me < size; ++me) {
          const int other = partner(me, step, size);
          EXPECT_NE(other, me);
          EXPECT_EQ(partner(other, step, size), me) << me << " in step " << step << " of " << size;
        }
      }
    }
  }
}

TEST(Halving, TwoPlacesTellWhereItsStepsLead) {
  for (const Partner partner : {bit_partner, swing_partner}) {
    for (int size = 1; size <= 128; size *= 2) {
      for (int step = 0; 1 << step <= size; ++step) {
        for (int me = 0; me < size; ++me) {
          const std::set<int> reached = told(reach_of(partner, me, step, size), size);
          EXPECT_EQ(reached, followed(partner, me, step, size)) << me << " in step " << step << " of " << size;
          EXPECT_EQ(reached.size(), static_cast<std::size_t>(size >> step));
        }
      }
    }
  }
}

TEST(Halving, NamesAndPartnersAreTheOnlyDifference) {
  Schedule bits = halve_and_double("either", {.ranks = 11}, bit_partner);
  EXPECT_EQ(bits.name, "either");
  bits.name = "halving_doubling";
  EXPECT_EQ(bits, shape::build("halving_doubling", 11));
  EXPECT_NE(bits.steps[2], halve_and_double("either", {.ranks = 11}, swing_partner).steps[2]);
}

TEST(Halving, OfAPowerOfTwoIsOptimalInStepsAndBytes) {
  for (const char* name : {"halving_doubling", "swing"}) {
    for (const int ranks : {2, 4, 8, 16, 32}) {
      SCOPED_TRACE(testing::Message() << name << " of " << ranks);
      const Schedule schedule = shape::build(name, ranks);
      EXPECT_EQ(schedule.steps.size(), 2 * shape::ceil_log2(ranks));
      EXPECT_EQ(schedule.chunks, ranks);
      for (const int chunks : shape::sent(schedule)) EXPECT_EQ(chunks, 2 * (ranks - 1));
      EXPECT_EQ(shape::most_peers_in_a_step(schedule), 1);
    }
  }
}

TEST(Halving, TheAmountHalvesThenDoubles) {
  const std::size_t each[] = {4, 2, 1, 1, 2, 4};
  for (const char* name : {"halving_doubling", "swing"}) {
    const Schedule schedule = shape::build(name, 8);
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) EXPECT_EQ(schedule.steps[i].size(), 8 * each[i]) << name;
  }
}

TEST(Halving, RanksBeyondAPowerOfTwoHandInAndAreHandedTheBuffer) {
  struct Expected {
    int ranks;
    int core;
    std::size_t steps;
    std::set<int> keepers;  // of ranks beyond
  };
  for (const char* name : {"halving_doubling", "swing"}) {
    for (const auto& [ranks, core, steps, keepers] : {Expected{6, 4, 2, {0, 2}}, Expected{11, 8, 3, {0, 2, 4}}}) {
      SCOPED_TRACE(testing::Message() << name << " of " << ranks);
      const Schedule schedule = shape::build(name, ranks);
      EXPECT_EQ(schedule.chunks, core);
      EXPECT_EQ(schedule.steps.size(), 2 * steps + 2);
      for (const Transfer& transfer : schedule.steps.front()) {
        EXPECT_EQ(transfer.from, transfer.to + 1);
        EXPECT_TRUE(keepers.contains(transfer.to));
      }
      EXPECT_EQ(schedule.steps.front().size(), keepers.size() * static_cast<std::size_t>(core));
      EXPECT_EQ(schedule.steps.back().size(), keepers.size() * static_cast<std::size_t>(core));
    }
  }
}

}  // namespace lockstep::algorithm
