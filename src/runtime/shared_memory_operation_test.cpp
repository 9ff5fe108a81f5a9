#include "runtime/shared_memory_operation.h"

#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"
#include "base/collective.h"
#include "schedule/promise.h"
#include "schedule/proof.h"
#include "schedule/segmented.h"
#include "transport/shm/shm_transport.h"
#include "transport/shm/thread_host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace lockstep {

namespace {

constexpr std::size_t kCount = 240;

/// How a schedule is carried out.
struct How {
  const char* what = "staged";
  bool in_place = false;
  Dealing dealing{};
  WritePolicy::Caches caches{};
  DataType dtype = DataType::kFloat32;  ///< or float64, or bfloat16
  ReduceOp op = ReduceOp::kSum;         ///< or the mean, of what sums
};

/// What a rank brings: a sum of them says whose values are in it, and of which element. Exact in float32; in bfloat16,
/// whose sums hold eight bits, it says less.
float brought_by(int rank, std::size_t element, DataType dtype) {
  if (dtype == DataType::kBFloat16) return static_cast<float>(static_cast<std::size_t>(rank) + 1 + element % 13);
  return static_cast<float>((std::size_t{1} << static_cast<unsigned>(rank)) + 256 * (element % 4093));
}

void put(float value, DataType dtype, std::size_t element, void* values) {
  if (dtype == DataType::kFloat64) {
    static_cast<double*>(values)[element] = value;
  } else if (dtype == DataType::kBFloat16) {
    static_cast<std::uint16_t*>(values)[element] =
        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
  } else {
    static_cast<float*>(values)[element] = value;
  }
}

float get(const void* values, DataType dtype, std::size_t element) {
  if (dtype == DataType::kFloat64) return static_cast<float>(static_cast<const double*>(values)[element]);
  if (dtype == DataType::kFloat32) return static_cast<const float*>(values)[element];
  return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(values)[element]) << 16U);
}

Layout whole_layout(const Schedule& schedule, std::size_t count, DataType dtype = DataType::kFloat32) {
  return Layout({.collective = schedule.collective,
                 .dtype = dtype,
                 .ranks = schedule.ranks,
                 .chunks = schedule.chunks,
                 .count = count,
                 .block_counts = {}});
}

/// What all ranks together carried out in one way, and what each ends with.
struct Outcome {
  std::vector<ExecutedTransfer> executed;
  std::vector<std::vector<float>> outputs;
};

/// One rank, which carries out a schedule in one way after the other.
class RankOfWays {
 public:
  RankOfWays(Transport& transport, const Schedule& schedule, std::size_t count)
      : transport_(transport), schedule_(schedule), count_(count), staging_(transport.staging_bytes()) {}

  /// Returns what it ends with.
  std::vector<float> execute(const How& how, const TransferRecorder& recorder) {
    const int rank = transport_.rank();
    const std::size_t bytes = count_ * size_of(how.dtype);
    const RegisteredMemory memory = transport_.allocate(2 * bytes);
    plans_.push_back(std::make_shared<const Plan>(how.in_place ? make_in_place_plan(schedule_, rank)
                                                               : make_staged_plan(schedule_, rank)));
    SharedMemoryOperation operation(transport_, staging_,
                                    {.plan = plans_.back(),
                                     .announcement = announcement_for(how),
                                     .layout = whole_layout(schedule_, count_, how.dtype),
                                     .caches = how.caches,
                                     .dealing = how.dealing});
    operation.record_transfers(&recorder);
    // An all_to_all takes two buffers.
    auto* const input = static_cast<std::byte*>(memory.data());
    std::byte* const output = schedule_.collective == Collective::kAllToAll ? input + bytes : input;
    for (std::size_t i = 0; i < count_; ++i) put(brought_by(rank, i, how.dtype), how.dtype, i, input);
    const Call call{input, output, "", std::chrono::seconds(30)};
    operation.begin(call, plans_.size());
    while (!operation.advance()) operation.wait_for_peer();
    std::vector<float> values(count_);
    for (std::size_t i = 0; i < count_; ++i) values[i] = get(output, how.dtype, i);
    return values;
  }

 private:
  Announcement announcement_for(const How& how) const {
    Announcement announcement;
    announcement.count = count_;
    announcement.collective = schedule_.collective;
    announcement.dtype = how.dtype;
    announcement.op = how.op;
    return announcement;
  }

  Transport& transport_;
  const Schedule& schedule_;
  std::size_t count_;
  StagingRing staging_;
  std::vector<std::shared_ptr<const Plan>> plans_;  ///< of which the ring knows those used last
};

/// The same of all ranks, on threads, by ways.
std::vector<Outcome> execute(const Schedule& schedule, const std::vector<How>& ways, std::size_t count) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  std::vector<std::vector<std::vector<ExecutedTransfer>>> executed(ways.size());
  for (auto& one : executed) one.resize(ranks);
  std::vector<Outcome> outcomes(ways.size());
  for (Outcome& outcome : outcomes) outcome.outputs.resize(ranks);
  std::vector<shm::Host> hosts = shm::thread_hosts(schedule.ranks);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const auto transport = shm::create(std::move(hosts[rank]));
        RankOfWays own(*transport, schedule, count);
        for (std::size_t way = 0; way < ways.size(); ++way) {
          outcomes[way].outputs[rank] = own.execute(
              ways[way], [&](const ExecutedTransfer& transfer) { executed[way][rank].push_back(transfer); });
        }
      });
    }
  }
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (const auto& one : executed[way]) {
      outcomes[way].executed.insert(outcomes[way].executed.end(), one.begin(), one.end());
    }
  }
  return outcomes;
}

/// Of what is promised to the rank of a chunk, the first element that is another; nothing if all are right.
std::string fault_in(const Schedule& schedule, const How& how, int rank, int chunk, const std::vector<float>& output) {
  const Layout layout = whole_layout(schedule, output.size());
  const Layout::Span from = layout.input(chunk, 0);
  const std::size_t to = layout.output(chunk, 0).offset_bytes / sizeof(float);
  for (std::size_t i = 0; i < from.count; ++i) {
    double want = 0;
    for (int source = 0; source < schedule.ranks; ++source) {
      if (!contributes(schedule, source, chunk)) continue;
      want += brought_by(source, from.offset_bytes / sizeof(float) + i, how.dtype);
    }
    if (how.op == ReduceOp::kMean) want /= schedule.ranks;
    if (output[to + i] != static_cast<float>(want)) {
      return fmt::format("rank {}, element {} of chunk {}: {} instead of {}", rank, i, chunk, output[to + i], want);
    }
  }
  return "";
}

/// The same of all ranks and chunks. A barrier promises no values, and what a rank of an all_to_all keeps goes through
/// no schedule.
std::string fault_in(const Schedule& schedule, const How& how, const std::vector<std::vector<float>>& outputs) {
  if (schedule.collective == Collective::kBarrier) return "";
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const bool stays = schedule.collective == Collective::kAllToAll && contributes(schedule, rank, chunk);
      if (stays || !must_end_with(schedule, rank, chunk)) continue;
      const std::string fault = fault_in(schedule, how, rank, chunk, outputs[static_cast<std::size_t>(rank)]);
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

/// What rows are made of in which every chunk has a part: a line or two for each.
constexpr Dealing kSmallBlocks{.least_of_all_bytes = 0, .block_bytes = 128};

/// In those of the ways that there are for it, one after the other.
void expect_executed_as_planned(const Schedule& schedule, std::vector<How> ways, std::size_t count) {
  std::erase_if(ways, [&](const How& how) {
    return (how.in_place && !runs_in_place(schedule)) ||
           (how.op != ReduceOp::kSum && !sums_values(schedule.collective));
  });
  const auto want = sorted(planned(schedule));
  const std::vector<Outcome> outcomes = execute(schedule, ways, count);
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const std::string which = schedule.name + ", " + ways[way].what;
    EXPECT_EQ(sorted(outcomes[way].executed), want) << which;
    EXPECT_EQ(fault_in(schedule, ways[way], outcomes[way].outputs), "") << which;
  }
}

/// Dealt out in several types, for rows cut them at other elements; and a mean, which is divided where a chunk is
/// finished.
void expect_executed_as_planned(const Schedule& schedule, std::size_t count) {
  const How dealt{.what = "dealt out", .in_place = true, .dealing = kSmallBlocks};
  How halves = dealt;
  halves.what = "halves dealt out";
  halves.dtype = DataType::kBFloat16;
  How means = dealt;
  means.what = "means dealt out";
  means.dtype = DataType::kFloat64;
  means.op = ReduceOp::kMean;
  expect_executed_as_planned(schedule, {{}, {.what = "in place", .in_place = true}, dealt, halves, means}, count);
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

/// As pipelines.
TEST_P(Execution, CarriesOutWhatIsCut) {
  const auto expect_cut = [](const Algorithm& algorithm, const ScheduleRequest& request) {
    if (request.root != 0 && request.root != request.ranks - 1) return;
    expect_executed_as_planned(segmented(algorithm.build(request), 3), {{}, {.what = "in place", .in_place = true}},
                               kCount * static_cast<std::size_t>(request.ranks));
  };
  for_each_request_on(GetParam(), expect_cut);
  for_each_composed_request_on(GetParam(), expect_cut);
}

namespace {

/// Whether rank 0 writes something past caches like these, or asks early for what it takes back.
bool minds(const WritePolicy::Caches& caches, const Schedule& schedule, bool in_place, std::size_t bytes) {
  const Plan plan = in_place ? make_in_place_plan(schedule, 0) : make_staged_plan(schedule, 0);
  const WritePolicy policy(caches, !in_place, bytes * static_cast<std::size_t>(schedule.ranks));
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Plan::Step& step) {
    return std::any_of(step.moves.begin(), step.moves.end(), [&](const Plan::Move& move) {
      const WritePolicy::Writes writes = policy.of(move, bytes / static_cast<std::size_t>(schedule.chunks));
      return writes.past_caches > 0 || writes.asks_early;
    });
  });
}

}  // namespace

/// What this machine's are decides only how it is written.
TEST_P(Execution, WritesTheSameWhateverTheCaches) {
  constexpr WritePolicy::Caches kSmallAndSlow{.shared_bytes = 1, .are_slow_to_take_back = true};
  constexpr WritePolicy::Caches kAsked{.are_worth_asking = true};
  const int ranks = GetParam();
  const std::size_t count = 5 * kCount * static_cast<std::size_t>(ranks);  // which makes moves long enough
  std::vector<How> ways;
  const auto by = [&](const char* name) { return find_algorithm(name).build({.ranks = ranks}); };
  for (const WritePolicy::Caches& caches : {kSmallAndSlow, kAsked}) {
    const char* const what = caches.are_worth_asking ? "asked early" : "past the caches";
    for (const bool in_place : {false, true}) {
      ways.push_back({.what = what, .in_place = in_place, .caches = caches});
      const std::size_t bytes = count * sizeof(float);
      if (ranks < 3) continue;  // where two only trade
      EXPECT_TRUE(minds(caches, by("ring"), in_place, bytes) || minds(caches, by("direct"), in_place, bytes))
          << what << (in_place ? ", in place" : ", staged");
    }
  }
  for_each_request_on(ranks, [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    if (request.root == 0) expect_executed_as_planned(algorithm.build(request), ways, count);
  });
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
    expect_executed_as_planned(schedule, {{.what = "large", .in_place = true}}, kLarge);
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

}  // namespace lockstep
