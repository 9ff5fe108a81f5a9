#include "planner/network/two_level_form.h"

#include "algorithms/catalog.h"
#include "planner/network/agreement_for_tests.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

namespace lockstep {

using testing_support::expect_agreement;
using testing_support::expect_counted;
using testing_support::expect_within_one_percent;
using testing_support::kCosts;

namespace {

constexpr const char* kLocals[] = {
    "ring",  "bidirectional_ring", "direct",     "circulant", "halving_doubling", "swing", "tree", "star",
    "naive", "recursive_doubling", "double_tree"};

/// That of neighbours, each host full.
std::vector<int> full_hosts(int hosts, int local_ranks) {
  std::vector<int> host_of;
  host_of.reserve(static_cast<std::size_t>(hosts * local_ranks));
  for (int rank = 0; rank < hosts * local_ranks; ++rank) host_of.push_back(rank / local_ranks);
  return host_of;
}

bool has_form(std::string_view local, int local_ranks) {
  const bool needs_power = local == "halving_doubling" || local == "swing" || local == "recursive_doubling";
  return local != "double_tree" && (!needs_power || std::has_single_bit(static_cast<unsigned>(local_ranks)));
}

/// What the comment in algorithms/hierarchical.cpp says of a LOCAL.
struct AsOnAHost {
  std::string_view local;
  std::string_view as;  ///< what it costs on a host: that algorithm's
  Collective collective;
  bool scatters;  ///< an equal part goes between hosts from each rank, else all from one
  bool copies_one_by_one = false;
};

}  // namespace

TEST(TwoLevelForm, IsThatOfTheComposedSchedule) {
  for (const char* local : kLocals) {
    for (const std::string_view global : algorithms_for(Collective::kAllReduce)) {
      const Algorithm composed = find_algorithm(fmt::format("hierarchical:{},{}", local, global));
      for (const int local_ranks : {1, 2, 3, 4, 8}) {
        const auto form = two_level_form(local, global, local_ranks);
        ASSERT_EQ(form.has_value(), has_form(local, local_ranks)) << composed.name << " of " << local_ranks;
        if (!form) continue;
        for (const int hosts : {1, 2, 3, 5, 8}) {
          const Schedule schedule =
              composed.build({.ranks = hosts * local_ranks, .hosts = full_hosts(hosts, local_ranks)});
          expect_agreement(*form, schedule);
          expect_counted(form->loads, schedule);
        }
      }
    }
  }
}

TEST(TwoLevelForm, OfABarrierIsThatOfNothing) {
  for (const char* local : {"ring", "tree", "naive", "recursive_doubling"}) {
    const auto form = two_level_form(local, "circulant", 4, Collective::kBarrier);
    ASSERT_TRUE(form) << local;
    for (const int hosts : {1, 3, 4}) {
      const Schedule schedule =
          find_algorithm(fmt::format("hierarchical:{},circulant", local))
              .build({.collective = Collective::kBarrier, .ranks = 4 * hosts, .hosts = full_hosts(hosts, 4)});
      expect_agreement(*form, schedule);
      expect_counted(form->loads, schedule);
    }
  }
}

TEST(TwoLevelForm, InStagesIsThatOfTheComposedSchedule) {
  using enum Collective;
  for (const Collective collective : {kReduceScatter, kAllGather, kBroadcast, kReduce}) {
    for (const std::string_view local : algorithms_for(collective)) {
      for (const std::string_view global : algorithms_for(collective)) {
        const Algorithm composed = find_algorithm(fmt::format("hierarchical:{},{}", local, global));
        for (const int local_ranks : {1, 2, 3, 4, 8}) {
          const auto form = two_level_form(local, global, local_ranks, collective);
          const bool has_one = has_root(collective) ? collective == kBroadcast || local != "direct"
                                                    : leaves_equal_parts(local, local_ranks);
          ASSERT_EQ(form.has_value(), has_one) << composed.name << " of " << local_ranks;
          if (!form) continue;
          for (const int hosts : {1, 2, 3, 5, 8}) {
            const Schedule schedule = composed.build(
                {.collective = collective, .ranks = hosts * local_ranks, .hosts = full_hosts(hosts, local_ranks)});
            expect_agreement(*form, schedule);
            expect_counted(form->loads, schedule);
          }
        }
      }
    }
  }
}

TEST(TwoLevelForm, TheCommentSaysWhatIsSimulated) {
  constexpr double kBytes = 64 << 20;
  using enum Collective;
  const AsOnAHost kinds[] = {
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
  for (const AsOnAHost& kind : kinds) {
    for (const char* global : {"ring", "tree", "recursive_doubling"}) {
      for (const int local_ranks : {2, 4}) {
        const int ranks = 4 * local_ranks;
        const std::string name = fmt::format("hierarchical:{},{}", kind.local, global);
        const Schedule schedule = find_algorithm(name).build({.ranks = ranks, .hosts = full_hosts(4, local_ranks)});
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

}  // namespace lockstep
