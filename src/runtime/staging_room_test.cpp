// Operations that the staging area has no room for, or that go through it in too many steps.
#include "runtime/shared_memory_operation.h"

#include "base/error_for_tests.h"
#include "transport/shm/shm_transport.h"
#include "transport/shm/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

/// Prepares a schedule of 65 chunks and more where the staging area has room for 64, of a cache line each.
void prepare_in_little_room(const Schedule& schedule, std::uint32_t blocks) {
  std::vector<shm::Host> hosts = shm::thread_hosts(schedule.ranks);
  const auto transport = shm::create(std::move(hosts[0]));
  StagingRing staging(StagingRing::kSlots * 4096);
  Announcement announcement;
  announcement.count = 240;
  announcement.collective = schedule.collective;
  announcement.blocks = blocks;
  const SharedMemoryOperation operation(*transport, staging,
                                        {.plan = std::make_shared<const Plan>(make_staged_plan(schedule, 0)),
                                         .announcement = announcement,
                                         .layout = Layout({.collective = schedule.collective,
                                                           .ranks = schedule.ranks,
                                                           .chunks = schedule.chunks,
                                                           .count = announcement.count,
                                                           .block_counts = {}})});
}

}  // namespace

TEST(StagingRoom, MoreThanCanBeStagedIsRefused) {
  constexpr int kChunks = 65;
  Schedule wide{.name = "wide", .collective = Collective::kBroadcast, .ranks = 2, .chunks = kChunks, .steps = {{}}};
  for (int chunk = 0; chunk < kChunks; ++chunk) wide.steps[0].push_back({TransferKind::kCopy, chunk, 0, 1});
  EXPECT_THAT([&] { prepare_in_little_room(wide, 0); },
              testing_support::refuses(
                  ErrorCode::kUnsupported,
                  "Rank 0: broadcast: the schedule 'wide' has 65 chunks of which 1 versions must be staged, more than "
                  "the staging area of 4096 bytes has room for; take one of fewer chunks."));
}

/// No algorithm has fewer chunks, so it is told what does help.
TEST(StagingRoom, AnAllToAllOfTooManyRanksIsRefusedWithAWayOut) {
  const Schedule schedule{.name = "exchange",
                          .collective = Collective::kAllToAll,
                          .ranks = 9,
                          .chunks = 81,
                          .steps = {{{TransferKind::kCopy, 1, 0, 1}}}};
  EXPECT_TRUE(runs_in_place(schedule)) << "so that registered memory is a way out";
  EXPECT_THAT([&] { prepare_in_little_room(schedule, 0); },
              testing_support::refuses(ErrorCode::kUnsupported,
                                       "has room for; take memory that Group::allocate gave, or "
                                       "LOCKSTEP_TRANSPORT=tcp."));
  EXPECT_THAT([&] { prepare_in_little_room(schedule, 1); },
              testing_support::refuses(ErrorCode::kUnsupported, "has room for; take LOCKSTEP_TRANSPORT=tcp."));
}

/// Where Group's all_to_all says it is.
TEST(StagingRoom, AnAllToAllHasRoomForAsManyRanksAsIsSaid) {
  std::vector<shm::Host> hosts = shm::thread_hosts(1);
  const StagingRing staging(shm::create(std::move(hosts[0]))->staging_bytes());
  const std::size_t places = staging.slot_bytes() / Layout::kCacheLine;
  constexpr std::size_t kMostRanks = 181;
  EXPECT_GE(places, kMostRanks * kMostRanks);
  EXPECT_LT(places, (kMostRanks + 1) * (kMostRanks + 1));
}

/// Progress counts to 2^24; beyond, a rank would take a peer's for that in the next operation.
TEST(StagingRoom, MoreStepsThanProgressCountsAreRefused) {
  constexpr int kSteps = 4096;
  Schedule schedule{.name = "long", .collective = Collective::kBroadcast, .ranks = 2, .chunks = kSteps};
  for (int step = 0; step < kSteps; ++step) schedule.steps.push_back({{TransferKind::kCopy, step, 0, 1}});
  std::vector<shm::Host> hosts = shm::thread_hosts(2);
  const auto transport = shm::create(std::move(hosts[0]));
  StagingRing staging(transport->staging_bytes());
  const auto plan = std::make_shared<const Plan>(make_staged_plan(schedule, 0));
  const auto prepare = [&](std::size_t gigabytes) {
    const std::size_t count = gigabytes << 28U;
    Announcement announcement;
    announcement.count = count;
    announcement.collective = schedule.collective;
    const SharedMemoryOperation operation(*transport, staging,
                                          {.plan = plan,
                                           .announcement = announcement,
                                           .layout = Layout({.collective = schedule.collective,
                                                             .ranks = 2,
                                                             .chunks = schedule.chunks,
                                                             .count = count,
                                                             .block_counts = {}})});
  };
  EXPECT_NO_THROW(prepare(1));
  try {
    prepare(64);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), testing::HasSubstr("take memory that Group::allocate gave, or another algorithm"));
  }
}

}  // namespace lockstep
