#include "planner/network/closed_form.h"

#include "algorithms/catalog.h"
#include "planner/network/count.h"
#include "planner/network/simulate.h"
#include "schedule/segmented.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

constexpr FlatCost kCosts[] = {
    {.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10},
    {.alpha_s = 1e-6, .beta_s = 8e-11, .gamma_s = 0},
    {.alpha_s = 0, .beta_s = 1e-9, .gamma_s = 2e-10},
};

void expect_within_one_percent(double expected, double actual, const std::string& what) {
  EXPECT_NEAR(actual, expected, 0.01 * expected) << what;
}

void expect_agreement(const ClosedForm& form, const Schedule& schedule) {
  const int ranks = schedule.ranks;
  for (const FlatCost& cost : kCosts) {
    const Wiring wiring(flat_network(ranks, cost));
    for (const double asked : {1.0, 1024.0, 1e6, 1e9}) {
      const double bytes = form.collective == Collective::kBarrier ? 0 : asked;  // of a barrier the form takes any
      const std::string what = fmt::format("{} {} on {} ranks, {} bytes, alpha {}", schedule.name,
                                           to_string(form.collective), ranks, bytes, cost.alpha_s);
      const Estimate estimate = form.evaluate(ranks, asked, cost);
      expect_within_one_percent(estimate.seconds, simulate(schedule, bytes, wiring).seconds, what);
      const Counts counts = count(schedule, bytes);
      EXPECT_EQ(estimate.steps, static_cast<double>(counts.steps)) << what;
      EXPECT_EQ(estimate.messages, static_cast<double>(counts.messages)) << what;
      expect_within_one_percent(estimate.bytes, counts.bytes, what);
      expect_within_one_percent(estimate.most_sent_bytes, counts.most_sent_bytes, what);
    }
  }
}

/// What the comment in algorithms/hierarchical.cpp says of a LOCAL.
struct Within {
  std::string_view local;
  std::string_view as;  ///< what it costs on a host: that algorithm's
  Collective collective;
  bool scatters;  ///< an equal part goes between hosts from each rank, else all from one
  bool copies_one_by_one = false;
};

}  // namespace

TEST(ClosedForm, TheSimulatedSchedulesAgreeWithTheLiterature) {
  for (const ClosedForm& form : closed_forms()) {
    const auto expect_on = [&](int ranks) {
      expect_agreement(form, find_algorithm(form.algorithm).build({.collective = form.collective, .ranks = ranks}));
    };
    for (int ranks = 1; ranks <= 17; ++ranks) expect_on(ranks);
    for (const int ranks : {32, 48, 64, 100}) expect_on(ranks);
  }
}

TEST(ClosedForm, OfTwoLevelsIsThatOfTheComposedSchedule) {
  for (const char* local : {"ring", "bidirectional_ring", "direct", "circulant", "halving_doubling", "swing"}) {
    for (const std::string_view global : algorithms_for(Collective::kAllReduce)) {
      for (const int local_ranks : {2, 3, 4}) {
        const auto form = hierarchical_closed_form(local, global, local_ranks);
        ASSERT_EQ(form.has_value(), leaves_equal_parts(local, local_ranks)) << local << " and " << global;
        if (!form) continue;
        for (const int hosts : {1, 2, 3, 5, 8}) {
          std::vector<int> host_of(static_cast<std::size_t>(hosts * local_ranks));
          for (std::size_t rank = 0; rank < host_of.size(); ++rank)
            host_of[rank] = static_cast<int>(rank) / local_ranks;
          const Algorithm composed = find_algorithm(fmt::format("hierarchical:{},{}", local, global));
          expect_agreement(*form, composed.build({.ranks = hosts * local_ranks, .hosts = host_of}));
        }
      }
    }
  }
  EXPECT_FALSE(hierarchical_closed_form("tree", "ring", 4)) << "one rank of a host has all of the sum";
  EXPECT_FALSE(hierarchical_closed_form("swing", "ring", 6)) << "four of them have a quarter each";
}

TEST(ClosedForm, OfTwoLevelsTheCommentSaysWhatIsSimulated) {
  constexpr double kBytes = 64 << 20;
  using enum Collective;
  const Within kinds[] = {
      {"ring", "ring", kAllReduce, true},
      {"bidirectional_ring", "bidirectional_ring", kAllReduce, true},
      {"direct", "direct", kAllReduce, true},
      {"circulant", "circulant", kAllReduce, true},
      {"halving_doubling", "halving_doubling", kAllReduce, true},
      {"swing", "swing", kAllReduce, true},
      {"tree", "tree", kAllReduce, false},
      {"star", "star", kAllReduce, false},
      {"naive", "star", kReduce, false, true},
      {"recursive_doubling", "tree", kReduce, false, true},
  };
  for (const Within& kind : kinds) {
    for (const char* global : {"ring", "tree", "recursive_doubling"}) {
      for (const int local_ranks : {2, 4}) {
        const int ranks = 4 * local_ranks;
        std::vector<int> hosts;
        for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / local_ranks);
        const std::string name = fmt::format("hierarchical:{},{}", kind.local, global);
        const Schedule schedule = find_algorithm(name).build({.ranks = ranks, .hosts = hosts});
        for (const FlatCost& cost : kCosts) {
          const auto seconds = [&](std::string_view algorithm, Collective collective, int of, double bytes) {
            return find_closed_form(algorithm, collective)->evaluate(of, bytes, cost).seconds;
          };
          double expected = seconds(global, kAllReduce, 4, kind.scatters ? kBytes / local_ranks : kBytes);
          expected += seconds(kind.as, kind.collective, local_ranks, kBytes);
          if (kind.copies_one_by_one) expected += (local_ranks - 1) * (cost.alpha_s + kBytes * cost.beta_s);
          expect_within_one_percent(expected, simulate(schedule, kBytes, Wiring(flat_network(ranks, cost))).seconds,
                                    fmt::format("{}, {} on a host, alpha {}", name, local_ranks, cost.alpha_s));
        }
      }
    }
  }
}

TEST(ClosedForm, TwoTreesInSegmentsNearTwiceTheBuffer) {
  constexpr int kSegments = 64;
  constexpr double kBytes = 1e9;
  const FlatCost cost{.alpha_s = 0, .beta_s = 1e-9, .gamma_s = 0};
  const ClosedForm* form = find_closed_form("double_tree", Collective::kAllReduce);
  for (const int ranks : {8, 15, 16, 32, 64}) {
    const Schedule pipeline = segmented(find_algorithm("double_tree").build({.ranks = ranks}), kSegments);
    const double first_segment = form->evaluate(ranks, kBytes / kSegments, cost).seconds;
    const double bound = first_segment + 2 * (kSegments - 1) * kBytes / kSegments * cost.beta_s;
    EXPECT_NEAR(simulate(pipeline, kBytes, Wiring(flat_network(ranks, cost))).seconds, bound, 0.1 * bound) << ranks;
  }
}

TEST(ClosedForm, EachHasASourceAndStandsInTheCatalogueOnce) {
  for (const ClosedForm& form : closed_forms()) {
    EXPECT_FALSE(form.source.empty());
    EXPECT_EQ(find_closed_form(form.algorithm, form.collective), &form);
  }
  EXPECT_EQ(find_closed_form("nobody's", Collective::kAllReduce), nullptr);
}

TEST(ClosedForm, TextbookNumbers) {
  const FlatCost cost{.alpha_s = 1e-6, .beta_s = 8e-11, .gamma_s = 0};
  // 1 MiB on 64 ranks, alpha 1 us, 12.5 GB/s: a ring takes 126 messages of 16 KiB after one another.
  EXPECT_NEAR(find_closed_form("ring", Collective::kAllReduce)->evaluate(64, 1 << 20, cost).seconds, 291.15e-6, 1e-8);
  EXPECT_NEAR(find_closed_form("tree", Collective::kAllReduce)->evaluate(64, 1 << 20, cost).seconds, 1018.6e-6, 1e-7);
}

}  // namespace lockstep
