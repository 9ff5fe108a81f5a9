#include "planner/network/closed_form.h"

#include "algorithms/catalog.h"
#include "planner/network/agreement_for_tests.h"
#include "planner/network/simulate.h"
#include "schedule/segmented.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

namespace lockstep {

using testing_support::expect_agreement;

TEST(ClosedForm, TheSimulatedSchedulesAgreeWithTheLiterature) {
  for (const ClosedForm& form : closed_forms()) {
    const auto expect_on = [&](int ranks) {
      expect_agreement(form, find_algorithm(form.algorithm).build({.collective = form.collective, .ranks = ranks}));
    };
    for (int ranks = 1; ranks <= 17; ++ranks) expect_on(ranks);
    for (const int ranks : {23, 31, 32, 47, 48, 62, 63, 64, 65, 95, 100}) expect_on(ranks);
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

/// The bound in algorithms/double_tree.cpp.
TEST(ClosedForm, TwoTreesInSegmentsTakeNoLongerThanTheBusiestRankInEveryStep) {
  constexpr double kBytes = 64 << 20;
  for (const FlatCost& cost : testing_support::kCosts) {
    for (const int ranks : {4, 6, 16, 31, 64}) {
      const int height = std::bit_width(static_cast<unsigned>(ranks)) - 1;
      for (const int k : {4, 64}) {
        const Schedule pipeline = segmented(find_algorithm("double_tree").build({.ranks = ranks}), k);
        const double step = 4 * cost.alpha_s + 2 * kBytes / k * cost.beta_s + kBytes / k * cost.gamma_s;
        const double seconds = simulate(pipeline, kBytes, Wiring(flat_network(ranks, cost))).seconds;
        EXPECT_LE(seconds, 1.001 * (2 * height + k - 1) * step) << ranks << " ranks, " << k << " segments";
        EXPECT_GE(seconds, 0.5 * (k - 1) * step) << ranks << " ranks, " << k << " segments";
      }
    }
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
