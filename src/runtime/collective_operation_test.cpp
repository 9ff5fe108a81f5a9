#include "runtime/collective_operation.h"

#include "algorithms/catalog.h"
#include "transport/shm/shm_transport.h"
#include "transport/shm/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace lockstep {

namespace {

constexpr std::size_t kCount = 240;

/// Runs the schedule on threads and returns what each rank carried out.
std::vector<std::vector<ExecutedTransfer>> execute(const Schedule& schedule) {
  std::vector<std::vector<ExecutedTransfer>> executed(static_cast<std::size_t>(schedule.ranks));
  std::vector<shm::Host> hosts = shm::thread_hosts(schedule.ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto index = static_cast<std::size_t>(rank);
      const auto transport = shm::create(std::move(hosts[index]));
      const RegisteredMemory memory =
          transport->allocate(kCount * static_cast<std::size_t>(schedule.ranks) * sizeof(float));
      Announcement announcement;
      announcement.sequence = 1;
      announcement.count = kCount * static_cast<std::size_t>(schedule.ranks);
      announcement.collective = schedule.collective;
      announcement.offset = transport->offset_of(memory.data(), memory.bytes()).value();
      CollectiveOperation operation(*transport,
                                    {.plan = std::make_shared<const Plan>(make_plan(schedule, rank)),
                                     .announcement = announcement,
                                     .purpose = "",
                                     .timeout = std::chrono::seconds(30),
                                     .recorder = [&](const ExecutedTransfer& one) { executed[index].push_back(one); }});
      while (!operation.advance()) operation.wait_for_peer();
    });
  }
  threads.clear();
  return executed;
}

/// The transfers of the schedule that end on a rank, with their steps: what that rank should have carried out. Within a
/// step transfers into different chunks have no order.
std::vector<ExecutedTransfer> planned(const Schedule& schedule, int rank) {
  std::vector<ExecutedTransfer> transfers;
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Transfer& transfer : schedule.steps[step]) {
      if (transfer.to == rank) transfers.push_back({static_cast<int>(step), transfer});
    }
  }
  return transfers;
}

bool same(const ExecutedTransfer& a, const ExecutedTransfer& b) { return a.step == b.step && a.transfer == b.transfer; }

bool by_step_and_chunk(const ExecutedTransfer& a, const ExecutedTransfer& b) {
  return std::pair(a.step, a.transfer.chunk) < std::pair(b.step, b.transfer.chunk);
}

}  // namespace

/// What ran is the schedule: nothing more, nothing less, in the planned steps and, into one chunk, in the planned
/// order.
TEST(Execution, CarriesOutTheScheduleAndNothingElse) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
                                        Collective::kBroadcast, Collective::kBarrier}) {
      for (int ranks = 1; ranks <= 8; ++ranks) {
        SCOPED_TRACE(testing::Message() << algorithm.name << ' ' << to_string(collective) << ' ' << ranks);
        const Schedule schedule = algorithm.build({.collective = collective, .ranks = ranks});
        auto executed = execute(schedule);
        std::size_t total = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          auto& got = executed[static_cast<std::size_t>(rank)];
          auto want = planned(schedule, rank);
          std::stable_sort(got.begin(), got.end(), by_step_and_chunk);
          std::stable_sort(want.begin(), want.end(), by_step_and_chunk);
          EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin(), want.end(), same)) << "rank " << rank;
          total += got.size();
        }
        EXPECT_EQ(total == 0, ranks == 1);
      }
    }
  }
}

/// A schedule that is no algorithm's: the runtime knows none, it runs what it is given.
TEST(Execution, RunsAScheduleThatNobodyNamed) {
  const Schedule schedule{.name = "by hand",
                          .collective = Collective::kBroadcast,
                          .ranks = 3,
                          .chunks = 2,
                          .root = 1,
                          .steps = {{{TransferKind::kCopy, 0, 1, 2}, {TransferKind::kCopy, 1, 1, 0}},
                                    {{TransferKind::kCopy, 0, 2, 0}, {TransferKind::kCopy, 1, 0, 2}}}};
  const auto executed = execute(schedule);
  EXPECT_EQ(executed[0].size(), 2U);
  EXPECT_EQ(executed[1].size(), 0U);
  EXPECT_EQ(executed[2].size(), 2U);
}

}  // namespace lockstep
