#include "runtime/shared_memory_operation.h"

#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"
#include "base/error_for_tests.h"
#include "schedule/promise.h"
#include "schedule/proof.h"
#include "schedule/segmented.h"
#include "transport/shm/shm_transport.h"
#include "transport/shm/thread_host.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <algorithm>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace lockstep {

namespace {

constexpr std::size_t kCount = 240;

/// What a rank brings: a sum of them says whose values are in it, and of which element. Exact in float32.
float brought_by(int rank, std::size_t element) {
  return static_cast<float>((std::size_t{1} << static_cast<unsigned>(rank)) + 256 * (element % 4093));
}

Layout whole_layout(const Schedule& schedule, std::size_t count) {
  return Layout({.collective = schedule.collective,
                 .ranks = schedule.ranks,
                 .chunks = schedule.chunks,
                 .count = count,
                 .block_counts = {}});
}

/// What all ranks carry out together, in place or staged.
struct OneRun {
  Schedule schedule;
  bool in_place;
  std::size_t count;
  std::size_t first = 0;  ///< whose value the first element has: runs differ, or what one left would do for the next
};

/// What all ranks together carried out, and what each ends with.
struct Outcome {
  std::vector<ExecutedTransfer> executed;
  std::vector<std::vector<float>> outputs;
};

/// Carries out one rank's parts, one after the other.
class RankOfRuns {
 public:
  explicit RankOfRuns(Transport& transport) : transport_(transport), staging_(transport.staging_bytes()) {}

  /// Returns what the rank ends with.
  std::vector<float> execute(const OneRun& run, const TransferRecorder& recorder) {
    const auto& [schedule, in_place, count, first] = run;
    const RegisteredMemory memory = transport_.allocate(2 * count * sizeof(float));
    Announcement announcement;
    announcement.count = count;
    announcement.collective = schedule.collective;
    const int rank = transport_.rank();
    plans_.push_back(
        std::make_shared<const Plan>(in_place ? make_in_place_plan(schedule, rank) : make_staged_plan(schedule, rank)));
    SharedMemoryOperation operation(
        transport_, staging_,
        {.plan = plans_.back(), .announcement = announcement, .layout = whole_layout(schedule, count)});
    operation.record_transfers(&recorder);
    // An all_to_all takes two buffers.
    auto* const input = static_cast<float*>(memory.data());
    float* const output = schedule.collective == Collective::kAllToAll ? input + count : input;
    for (std::size_t i = 0; i < count; ++i) input[i] = brought_by(rank, first + i);
    const Call call{input, output, "", std::chrono::seconds(30)};
    operation.begin(call, plans_.size());
    while (!operation.advance()) operation.wait_for_peer();
    return {output, output + count};
  }

 private:
  Transport& transport_;
  StagingRing staging_;
  std::vector<std::shared_ptr<const Plan>> plans_;  ///< which the staging ring refers to
};

/// All of them with the same transports, one after the other.
std::vector<Outcome> execute(const std::vector<OneRun>& runs) {
  const int ranks = runs.front().schedule.ranks;
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::vector<Outcome>> of_rank(size);
  std::vector<shm::Host> hosts = shm::thread_hosts(ranks);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        const auto transport = shm::create(std::move(hosts[rank]));
        RankOfRuns own(*transport);
        for (const OneRun& run : runs) {
          Outcome& outcome = of_rank[rank].emplace_back();
          outcome.outputs.push_back(
              own.execute(run, [&](const ExecutedTransfer& one) { outcome.executed.push_back(one); }));
        }
      });
    }
  }
  std::vector<Outcome> outcomes(runs.size());
  for (std::vector<Outcome>& parts : of_rank) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto& executed = parts[i].executed;
      outcomes[i].executed.insert(outcomes[i].executed.end(), executed.begin(), executed.end());
      outcomes[i].outputs.push_back(std::move(parts[i].outputs.front()));
    }
  }
  return outcomes;
}

/// Of what is promised to the rank of a chunk, the first element that is another; nothing if all are right.
std::string fault_in(const OneRun& run, int rank, int chunk, const std::vector<float>& output) {
  const Schedule& schedule = run.schedule;
  const Layout layout = whole_layout(schedule, output.size());
  const Layout::Span from = layout.input(chunk, 0);
  const std::size_t to = layout.output(chunk, 0).offset_bytes / sizeof(float);
  for (std::size_t i = 0; i < from.count; ++i) {
    float want = 0;
    for (int source = 0; source < schedule.ranks; ++source) {
      if (contributes(schedule, source, chunk)) {
        want += brought_by(source, run.first + from.offset_bytes / sizeof(float) + i);
      }
    }
    if (output[to + i] != want) {
      return fmt::format("rank {}, element {} of chunk {}: {} instead of {}", rank, i, chunk, output[to + i], want);
    }
  }
  return "";
}

/// The same of all ranks and chunks. A barrier promises no values, and what a rank of an all_to_all keeps goes through
/// no schedule.
std::string fault_in(const OneRun& run, const std::vector<std::vector<float>>& outputs) {
  const Schedule& schedule = run.schedule;
  if (schedule.collective == Collective::kBarrier) return "";
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const bool stays = schedule.collective == Collective::kAllToAll && contributes(schedule, rank, chunk);
      if (stays || !must_end_with(schedule, rank, chunk)) continue;
      const std::string fault = fault_in(run, rank, chunk, outputs[static_cast<std::size_t>(rank)]);
      if (!fault.empty()) return fault;
    }
  }
  return "";
}

auto key_of(const ExecutedTransfer& one) {
  const Transfer& transfer = one.transfer;
  return std::tuple(one.step, transfer.kind, transfer.chunk, transfer.from, transfer.to);
}

std::vector<ExecutedTransfer> sorted(std::vector<ExecutedTransfer> transfers) {
  std::sort(transfers.begin(), transfers.end(), [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  return transfers;
}

std::vector<ExecutedTransfer> planned(const Schedule& schedule) {
  std::vector<ExecutedTransfer> transfers;
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Transfer& transfer : schedule.steps[step]) transfers.push_back({static_cast<int>(step), transfer});
  }
  return transfers;
}

void expect_executed_as_planned(const std::vector<OneRun>& runs) {
  const std::vector<Outcome> outcomes = execute(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Schedule& schedule = runs[i].schedule;
    const std::string which = fmt::format("{} {} from {}, {}", schedule.name, to_string(schedule.collective),
                                          schedule.root, runs[i].in_place ? "in place" : "staged");
    EXPECT_EQ(sorted(outcomes[i].executed), sorted(planned(schedule))) << which;
    EXPECT_EQ(fault_in(runs[i], outcomes[i].outputs), "") << which;
  }
}

void expect_executed_as_planned(const Schedule& schedule, std::size_t count) {
  for (const bool in_place : {false, true}) {
    if (!in_place || runs_in_place(schedule))
      expect_executed_as_planned(std::vector<OneRun>{{schedule, in_place, count}});
  }
}

void expect_executed_as_planned(const Schedule& schedule) {
  expect_executed_as_planned(schedule, kCount * static_cast<std::size_t>(schedule.ranks));
}

}  // namespace

/// By number of ranks.
class Execution : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Execution, testing::Range(1, 9), testing::PrintToStringParamName());

/// What ran is the schedule: nothing more, nothing less, in the planned steps.
TEST_P(Execution, CarriesOutTheScheduleAndNothingElse) {
  for_each_request_on(GetParam(), [](const Algorithm& algorithm, const ScheduleRequest& request) {
    // Of the roots, the first and the last: the others are theirs, renumbered.
    if (request.root != 0 && request.root != request.ranks - 1) return;
    expect_executed_as_planned(algorithm.build(request));
  });
}

TEST_P(Execution, CarriesOutWhatIsComposed) {
  for_each_composed_request_on(GetParam(), [](const Algorithm& algorithm, const ScheduleRequest& request) {
    expect_executed_as_planned(algorithm.build(request));
  });
}

/// As pipelines: with the same transports, for to make others for each would take more time than all else.
TEST_P(Execution, CarriesOutWhatIsCut) {
  std::vector<OneRun> runs;
  const auto add = [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    if (request.root != 0 && request.root != request.ranks - 1) return;
    const Schedule cut = segmented(algorithm.build(request), 3);
    for (const bool in_place : {false, true}) {
      if (in_place && !runs_in_place(cut)) continue;
      runs.push_back({cut, in_place, kCount * static_cast<std::size_t>(cut.ranks), 11 * runs.size()});
    }
  };
  for_each_request_on(GetParam(), add);
  for_each_composed_request_on(GetParam(), add);
  expect_executed_as_planned(runs);
}

/// Each transfer is told of once, and all of it comes; where steps are woven too.
TEST(ExecutionByHand, SeveralPiecesAreTheScheduleOnce) {
  const Schedule exchange{.name = "exchange",
                          .ranks = 2,
                          .chunks = 1,
                          .steps = {{{TransferKind::kReduce, 0, 0, 1}, {TransferKind::kReduce, 0, 1, 0}}}};
  ASSERT_TRUE(make_staged_plan(exchange, 0).weaves);
  const Schedule there_and_back{.name = "there and back",
                                .ranks = 2,
                                .chunks = 1,
                                .steps = {{{TransferKind::kReduce, 0, 0, 1}}, {{TransferKind::kCopy, 0, 1, 0}}}};
  constexpr std::size_t kOfThreePieces = 3 * Plan::kPieceBytes / sizeof(float);
  for (const Schedule& schedule : {exchange, there_and_back}) {
    for (const std::size_t count : {kOfThreePieces - 100, kOfThreePieces}) expect_executed_as_planned(schedule, count);
  }
}

/// Where the buffers of all ranks have 64 MiB together, chunks are dealt out in blocks.
TEST(ExecutionByHand, LargeBuffersAreDealtOut) {
  constexpr int kRanks = 3;
  constexpr std::size_t kLarge = (std::size_t{64} << 20) / kRanks / sizeof(float) + 777;
  for (const char* name : {"direct", "ring"}) {
    const Schedule schedule = find_algorithm(name).build({.ranks = kRanks});
    ASSERT_TRUE(runs_in_place(schedule));
    expect_executed_as_planned(std::vector<OneRun>{{schedule, /*in_place=*/true, kLarge}});
  }
}

/// A schedule that is no algorithm's: the runtime knows none, it runs what it is given.
TEST(ExecutionByHand, RunsAScheduleThatNobodyNamed) {
  expect_executed_as_planned({.name = "by hand",
                              .collective = Collective::kBroadcast,
                              .ranks = 3,
                              .chunks = 2,
                              .root = 1,
                              .steps = {{{TransferKind::kCopy, 0, 1, 2}, {TransferKind::kCopy, 1, 1, 0}},
                                        {{TransferKind::kCopy, 0, 2, 0}, {TransferKind::kCopy, 1, 0, 2}}}});
}

/// Rank 1 makes a sum that nobody reads before it is overwritten.
TEST(ExecutionByHand, MakesASumThatIsOfNoUse) {
  const Schedule schedule{
      .name = "by hand",
      .ranks = 3,
      .chunks = 1,
      .steps = {{{TransferKind::kReduce, 0, 0, 1}, {TransferKind::kReduce, 0, 0, 2}, {TransferKind::kReduce, 0, 1, 2}},
                {{TransferKind::kCopy, 0, 2, 0}, {TransferKind::kCopy, 0, 2, 1}}}};
  ASSERT_TRUE(prove(schedule).proved());
  expect_executed_as_planned(schedule);
  for (int rank = 0; rank < 3; ++rank) {
    for (const Plan::Step& step : make_staged_plan(schedule, rank).steps) {
      for (const Plan::Move& move : step.moves) EXPECT_FALSE(move.targets.empty()) << "of rank " << rank;
    }
  }
}

namespace {

/// Prepares a schedule of 65 chunks and more where the staging area has room for 64, of a cache line each.
void prepare_in_little_room(const Schedule& schedule, std::uint32_t blocks) {
  std::vector<shm::Host> hosts = shm::thread_hosts(schedule.ranks);
  const auto transport = shm::create(std::move(hosts[0]));
  StagingRing staging(StagingRing::kSlots * 4096);
  Announcement announcement;
  announcement.count = kCount;
  announcement.collective = schedule.collective;
  announcement.blocks = blocks;
  const SharedMemoryOperation operation(*transport, staging,
                                        {.plan = std::make_shared<const Plan>(make_staged_plan(schedule, 0)),
                                         .announcement = announcement,
                                         .layout = whole_layout(schedule, kCount)});
}

}  // namespace

TEST(ExecutionByHand, MoreThanCanBeStagedIsRefused) {
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
TEST(ExecutionByHand, AnAllToAllOfTooManyRanksIsRefusedWithAWayOut) {
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
TEST(ExecutionByHand, AnAllToAllHasRoomForAsManyRanksAsIsSaid) {
  std::vector<shm::Host> hosts = shm::thread_hosts(1);
  const StagingRing staging(shm::create(std::move(hosts[0]))->staging_bytes());
  const std::size_t places = staging.slot_bytes() / Layout::kCacheLine;
  constexpr std::size_t kMostRanks = 181;
  EXPECT_GE(places, kMostRanks * kMostRanks);
  EXPECT_LT(places, (kMostRanks + 1) * (kMostRanks + 1));
}

/// Progress counts to 2^24; beyond, a rank would take a peer's for that in the next operation.
TEST(ExecutionByHand, MoreStepsThanProgressCountsAreRefused) {
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
