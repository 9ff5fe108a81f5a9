#include "planner/network/load_forms.h"

#include "algorithms/catalog.h"
#include "planner/network/agreement_for_tests.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep {

using testing_support::counted_loads;
using testing_support::expect_counted;
using testing_support::expect_every_rank;
using testing_support::expect_same;

TEST(LoadForms, AreWhatTheSchedulesCount) {
  for (const ClosedForm& form : closed_forms()) {
    ASSERT_TRUE(form.loads) << form.algorithm << " " << to_string(form.collective);
    const auto expect_on = [&](int ranks) {
      expect_counted(form.loads, find_algorithm(form.algorithm).build({.collective = form.collective, .ranks = ranks}));
    };
    for (int ranks = 1; ranks <= 34; ++ranks) expect_on(ranks);
    for (const int ranks : {47, 48, 63, 64, 65, 100, 127, 257}) expect_on(ranks);
  }
}

TEST(LoadForms, WithAnotherRootAreMovedOn) {
  constexpr double kBytes = 1e6;
  for (const ClosedForm& form : closed_forms()) {
    if (!has_root(form.collective)) continue;
    for (const int ranks : {2, 3, 4, 5, 6, 9}) {
      for (int root = 0; root < ranks; ++root) {
        const Schedule schedule =
            find_algorithm(form.algorithm).build({.collective = form.collective, .ranks = ranks, .root = root});
        const std::string what =
            fmt::format("{} {} on {} ranks from {}", form.algorithm, to_string(form.collective), ranks, root);
        const Loads loads = rooted_at(root, ranks, form.loads(ranks, kBytes));
        const Counts counts = count(schedule, kBytes);
        expect_every_rank(loads, counted_loads(schedule, counts), what);
        expect_same(counts.busiest.link.bytes, loads.busiest_link.bytes, what);
        double link_bytes = 0;
        for (const Message& message : messages_of(schedule)) {
          const bool is_it = message.from == loads.busiest_link.from && message.to == loads.busiest_link.to;
          if (is_it) link_bytes += message.chunks * chunk_bytes(schedule, kBytes);
        }
        expect_same(counts.busiest.link.bytes, link_bytes, what + ": this link is one of the busiest");
      }
    }
  }
}

TEST(LoadForms, AreOfWhatTheyAreKnownFor) {
  EXPECT_FALSE(find_load_form("nobody's", Collective::kAllReduce));
  EXPECT_FALSE(find_load_form("nobody's", Collective::kBarrier));
  EXPECT_FALSE(find_load_form("ring", Collective::kGather));
}

}  // namespace lockstep
