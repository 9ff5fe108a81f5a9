#include "planner/network/load_forms.h"

#include "algorithms/catalog.h"
#include "planner/network/closed_form.h"
#include "planner/network/count.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

void expect_same(double expected, double actual, const std::string& what) {
  EXPECT_NEAR(actual, expected, 1e-9 * (1 + expected)) << what;
}

/// What each rank sends and receives in the schedule, in messages and bytes.
std::vector<RankLoad> counted_loads(const Schedule& schedule, const Counts& counts) {
  std::vector<RankLoad> loads;
  for (const auto& [sent, received, reduced] : counts.by_rank) {
    loads.push_back({.sent = {0, sent}, .received = {0, received}, .reduced_bytes = reduced});
  }
  for (const Message& message : messages_of(schedule)) {
    ++loads[static_cast<std::size_t>(message.from)].sent.messages;
    ++loads[static_cast<std::size_t>(message.to)].received.messages;
  }
  return loads;
}

void expect_every_rank(const Loads& loads, const std::vector<RankLoad>& counted, const std::string& what) {
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const auto rank = static_cast<int>(i);
    const RankLoad load = loads.of_rank(rank);
    const std::string which = fmt::format("{}, rank {}", what, rank);
    EXPECT_EQ(load.sent.messages, counted[i].sent.messages) << which;
    EXPECT_EQ(load.received.messages, counted[i].received.messages) << which;
    expect_same(counted[i].sent.bytes, load.sent.bytes, which + " sends");
    expect_same(counted[i].received.bytes, load.received.bytes, which + " receives");
    expect_same(counted[i].reduced_bytes, load.reduced_bytes, which + " reduces");
  }
}

/// The busiest rank, link and their bytes, of several the lowest.
void expect_busiest(const Busiest& counted, const Busiest& told, const std::string& what) {
  EXPECT_EQ(told.rank, counted.rank) << what;
  expect_same(counted.sent_bytes, told.sent_bytes, what);
  expect_same(counted.received_bytes, told.received_bytes, what);
  EXPECT_EQ(told.link.from, counted.link.from) << what;
  EXPECT_EQ(told.link.to, counted.link.to) << what;
  expect_same(counted.link.bytes, told.link.bytes, what + ", its busiest link");
}

void expect_counted(const LoadForm& form, const Schedule& schedule) {
  for (const double asked : {1.0, 1e6}) {
    const double bytes = schedule.collective == Collective::kBarrier ? 0 : asked;  // of a barrier the form takes any
    const std::string what =
        fmt::format("{} {} on {} ranks", schedule.name, to_string(schedule.collective), schedule.ranks);
    const Loads loads = form(schedule.ranks, asked);
    const Counts counts = count(schedule, bytes);
    expect_every_rank(loads, counted_loads(schedule, counts), what);
    expect_busiest(counts.busiest, busiest_of(loads, schedule.ranks), what);
  }
}

}  // namespace

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

TEST(LoadForms, OfTwoLevelsAreThoseOfTheComposedSchedule) {
  for (const char* local : {"ring", "bidirectional_ring", "direct", "circulant", "halving_doubling", "swing"}) {
    for (const std::string_view global : algorithms_for(Collective::kAllReduce)) {
      const Algorithm composed = find_algorithm(fmt::format("hierarchical:{},{}", local, global));
      for (const int local_ranks : {1, 2, 3, 4, 5, 8}) {
        const auto form = hierarchical_closed_form(local, global, local_ranks);
        ASSERT_EQ(form.has_value(), leaves_equal_parts(local, local_ranks)) << local << " and " << global;
        if (!form) continue;
        for (const int hosts : {1, 2, 3, 4, 5, 6, 8}) {
          std::vector<int> host_of(static_cast<std::size_t>(hosts * local_ranks));
          for (std::size_t rank = 0; rank < host_of.size(); ++rank)
            host_of[rank] = static_cast<int>(rank) / local_ranks;
          expect_counted(form->loads, composed.build({.ranks = hosts * local_ranks, .hosts = host_of}));
        }
      }
    }
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

TEST(LoadForms, EqualPartsAreLeftByWhatScattersItsSum) {
  for (const char* local : {"ring", "bidirectional_ring", "direct", "circulant"}) {
    for (const int ranks : {1, 2, 3, 4, 6}) EXPECT_TRUE(leaves_equal_parts(local, ranks)) << local << " " << ranks;
  }
  for (const char* local : {"halving_doubling", "swing"}) {
    for (const int ranks : {1, 2, 4, 8}) EXPECT_TRUE(leaves_equal_parts(local, ranks)) << local << " " << ranks;
    for (const int ranks : {3, 5, 6, 12}) EXPECT_FALSE(leaves_equal_parts(local, ranks)) << local << " " << ranks;
  }
  for (const char* local : {"naive", "star", "tree", "double_tree", "recursive_doubling"}) {
    EXPECT_FALSE(leaves_equal_parts(local, 4)) << local;
  }
}

TEST(LoadForms, AreOfWhatTheyAreKnownFor) {
  EXPECT_FALSE(find_load_form("nobody's", Collective::kAllReduce));
  EXPECT_FALSE(find_load_form("nobody's", Collective::kBarrier));
  EXPECT_FALSE(find_load_form("ring", Collective::kGather));
}

}  // namespace lockstep
