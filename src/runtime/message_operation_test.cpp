// Every algorithm over real connections: what each rank ends with, what moved, and what is said when ranks disagree.
#include "runtime/message_operation.h"

#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"
#include "schedule/promise.h"
#include "schedule/view.h"
#include "transport/tcp/transports_for_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {

namespace {

/// Small whole numbers, exact in any order of summing.
float contribution(int rank, std::size_t element) {
  return static_cast<float>((element * 7 + static_cast<std::size_t>(rank) * 3) % 5 + 1);
}

struct Shape {
  Collective collective;
  std::size_t count;  ///< elements of the buffer
  ReduceOp op = ReduceOp::kSum;
};

Announcement announcement_of(const Shape& shape, const Schedule& schedule) {
  Announcement announcement;
  announcement.collective = shape.collective;
  announcement.count = shape.count;
  announcement.op = shape.op;
  announcement.root = schedule.root;
  announcement.fingerprint = shape.count;
  schedule.name.copy(announcement.algorithm.data(), announcement.algorithm.size() - 1);
  return announcement;
}

Layout layout_of(const Shape& shape, const Schedule& schedule) {
  return Layout({.collective = shape.collective,
                 .dtype = DataType::kFloat32,
                 .ranks = schedule.ranks,
                 .chunks = schedule.chunks,
                 .count = shape.count,
                 .block_counts = {}});
}

void finish(RunningOperation& operation) {
  while (!operation.advance()) operation.wait_for_peer();
}

/// What the collective promises to this rank, chunk by chunk.
void expect_promise(const Schedule& schedule, const Shape& shape, int rank, const std::vector<float>& output) {
  const Layout layout = layout_of(shape, schedule);
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    if (!must_end_with(schedule, rank, chunk)) continue;
    const Layout::Span in = layout.input(chunk, 0);
    const Layout::Span out = layout.output(chunk, 0);
    for (std::size_t i = 0; i < in.count; ++i) {
      float expected = 0;
      for (int other = 0; other < schedule.ranks; ++other) {
        if (contributes(schedule, other, chunk)) expected += contribution(other, in.offset_bytes / sizeof(float) + i);
      }
      if (shape.op == ReduceOp::kMean) expected /= static_cast<float>(schedule.ranks);
      ASSERT_FLOAT_EQ(output[out.offset_bytes / sizeof(float) + i], expected) << "rank " << rank << " chunk " << chunk;
    }
  }
}

/// A rank's operation with what it stands on.
struct Subject {
  Subject(MessageTransport& transport, const Schedule& schedule, const Shape& shape)
      : buffers(static_cast<std::size_t>(transport.size())),
        operation(transport, buffers,
                  {.plan = std::make_shared<const MessagePlan>(make_message_plan(schedule, transport.rank())),
                   .announcement = announcement_of(shape, schedule),
                   .layout = layout_of(shape, schedule)}) {}

  void run(const float* input, float* output, std::uint64_t sequence,
           std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    const Call call{.input = input, .output = output, .purpose = "", .timeout = timeout};
    operation.begin(call, sequence);
    finish(operation);
  }

  MessageOperation::ReceiveBuffers buffers;
  MessageOperation operation;
};

/// What a rank keeps of its own goes through no schedule: whoever calls puts it in place.
void place_own_chunks(const Schedule& schedule, const Layout& layout, int rank, const std::vector<float>& input,
                      std::vector<float>& output) {
  std::vector<bool> comes(static_cast<std::size_t>(schedule.chunks));
  for (const auto& step : view_of(schedule, rank).steps) {
    for (const Transfer& transfer : step.receives) comes[static_cast<std::size_t>(transfer.chunk)] = true;
  }
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    if (comes[static_cast<std::size_t>(chunk)] || !must_end_with(schedule, rank, chunk)) continue;
    const Layout::Span in = layout.input(chunk, 0);
    std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(in.offset_bytes / sizeof(float)), in.count,
                output.begin() + static_cast<std::ptrdiff_t>(layout.output(chunk, 0).offset_bytes / sizeof(float)));
  }
}

/// What is carried out, and on what.
struct Case {
  Schedule schedule;
  Shape shape;
};

/// Calls `check` in each rank with each of the cases, which have that many ranks, one after the other over one set of
/// connections: a set for each would leave the system short of ports.
template <class Check>
void for_each_case(int ranks, const std::vector<Case>& cases, std::size_t piece_bytes, const Check& check) {
  tcp::on_transports(
      ranks,
      [&](MessageTransport& transport) {
        std::uint64_t sequence = 0;
        for (const Case& one : cases) {
          SCOPED_TRACE(fmt::format("{} {} from {}, {} elements", one.schedule.name, to_string(one.shape.collective),
                                   one.schedule.root, one.shape.count));
          check(transport, one, sequence);
        }
      },
      piece_bytes);
}

/// In place, out of place, and in place again, with one operation object.
void run_and_check(int ranks, const std::vector<Case>& cases, std::size_t piece_bytes = 0) {
  for_each_case(ranks, cases, piece_bytes, [](MessageTransport& transport, const Case& one, std::uint64_t& sequence) {
    const auto& [schedule, shape] = one;
    const int rank = transport.rank();
    Subject subject(transport, schedule, shape);
    const int out_of_place = 1;
    for (int time = 0; time < 3; ++time) {
      // Blocks of an all_to_all change places: it has two buffers always.
      const bool in_place = time != out_of_place && shape.collective != Collective::kAllToAll;
      std::vector<float> input(shape.count);
      for (std::size_t i = 0; i < input.size(); ++i) input[i] = contribution(rank, i);
      const std::vector<float> before = input;
      std::vector<float> elsewhere(shape.count, -1.0F);
      place_own_chunks(schedule, layout_of(shape, schedule), rank, input, elsewhere);
      std::vector<float>& output = in_place ? input : elsewhere;
      subject.run(input.data(), output.data(), ++sequence);
      expect_promise(schedule, shape, rank, output);
      if (!in_place) {
        EXPECT_EQ(input, before) << "an input that is not the output is only read";
      }
    }
  });
}
void run_and_check(const Schedule& schedule, const Shape& shape, std::size_t piece_bytes = 0) {
  run_and_check(schedule.ranks, {{schedule, shape}}, piece_bytes);
}

/// Every rank carries out its transfers of the schedule, and no others.
void expect_carried_out(int ranks, const std::vector<Case>& cases, std::size_t piece_bytes = 0) {
  for_each_case(ranks, cases, piece_bytes, [](MessageTransport& transport, const Case& one, std::uint64_t& sequence) {
    const auto& [schedule, shape] = one;
    std::vector<ExecutedTransfer> carried_out;
    const TransferRecorder recorder = [&](const ExecutedTransfer& done) { carried_out.push_back(done); };
    Subject subject(transport, schedule, shape);
    subject.operation.record_transfers(&recorder);
    const std::vector<float> input(shape.count, 1.0F);
    std::vector<float> output = input;
    subject.run(shape.collective == Collective::kAllToAll ? input.data() : output.data(), output.data(), ++sequence);
    std::vector<ExecutedTransfer> planned;
    const RankView view = view_of(schedule, transport.rank());
    for (std::size_t step = 0; step < view.steps.size(); ++step) {
      for (const Transfer& transfer : view.steps[step].receives) planned.push_back({static_cast<int>(step), transfer});
    }
    EXPECT_THAT(carried_out, testing::UnorderedElementsAreArray(planned));
  });
}

/// So small that a slice of a chunk is the smallest.
constexpr std::size_t kSmallPiece = 1;

/// By number of ranks.
class MessageExecution : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MessageExecution, testing::Range(1, 9), testing::PrintToStringParamName());

}  // namespace

TEST(MessageOperation, KeepsWhatEveryCollectivePromisesByEveryAlgorithm) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    std::vector<Case> cases;
    for (const Algorithm& algorithm : algorithms()) {
      for (const Collective collective : algorithm.collectives) {
        for (const std::size_t block : {0U, 1U, 127U}) {
          const int root = has_root(collective) ? ranks - 1 : 0;
          const std::size_t count = collective == Collective::kBarrier ? 0 : block * static_cast<std::size_t>(ranks);
          cases.push_back({.schedule = algorithm.build({.collective = collective, .ranks = ranks, .root = root}),
                           .shape = {collective, count, is_reduction(collective) ? ReduceOp::kMean : ReduceOp::kSum}});
        }
      }
    }
    run_and_check(ranks, cases);
  }
}

/// Chunks longer than the rings, and no multiple of anything.
TEST(MessageOperation, MovesLongBuffersPieceByPiece) {
  constexpr std::size_t kCount = 600'009;
  std::vector<Case> cases;
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : algorithm.collectives) {
      if (collective == Collective::kBarrier) continue;
      cases.push_back(
          {.schedule = algorithm.build({.collective = collective, .ranks = 3}), .shape = {collective, kCount}});
    }
  }
  run_and_check(3, cases);
  run_and_check(3, cases, kSmallPiece);
}

TEST(MessageOperation, GoesThroughItsScheduleWithEachPiece) {
  const Schedule schedule = find_algorithm("ring").build({.collective = Collective::kAllReduce, .ranks = 2});
  constexpr std::size_t kPiece = 256 << 10;
  const auto pieces_of = [&](std::size_t bytes) {
    int pieces = 0;
    const auto prepare = [&](MessageTransport& transport) {
      const Subject subject(transport, schedule, {Collective::kAllReduce, bytes / sizeof(float)});
      if (transport.rank() == 0) pieces = subject.operation.pieces();
    };
    tcp::on_transports(2, prepare, kPiece);
    return pieces;
  };
  EXPECT_EQ(pieces_of(0), 1);
  EXPECT_EQ(pieces_of(kPiece), 1);
  EXPECT_EQ(pieces_of(kPiece + 64 * sizeof(float)), 2);
  EXPECT_EQ(pieces_of(10 * kPiece), 10);
  expect_carried_out(2, {{schedule, {Collective::kAllReduce, 10 * kPiece / sizeof(float)}}}, kPiece);
}

/// Exchanges in which all ranks send and sum the same chunk at once: nobody overwrites what is still to be sent, and
/// nobody waits for ever although no ring holds a chunk.
TEST(MessageOperation, ExchangesLongChunks) {
  for (const int ranks : {2, 4}) {
    Schedule schedule{
        .name = "exchange", .collective = Collective::kAllReduce, .ranks = ranks, .chunks = 2, .root = 0, .steps = {}};
    for (int distance = 1; distance < ranks; distance *= 2) {
      Step step;
      for (int rank = 0; rank < ranks; ++rank) {
        // In an order of its own on every rank, which must not matter.
        for (const int chunk : {rank % 2, 1 - rank % 2})
          step.push_back({TransferKind::kReduce, chunk, rank, rank ^ distance});
      }
      schedule.steps.push_back(step);
    }
    run_and_check(schedule, {Collective::kAllReduce, 700'001});
    run_and_check(schedule, {Collective::kAllReduce, 700'001}, kSmallPiece);
    Schedule everybody{.name = "all to all",
                       .collective = Collective::kAllReduce,
                       .ranks = ranks,
                       .chunks = 1,
                       .root = 0,
                       .steps = {{}}};
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (from != to) everybody.steps[0].push_back({TransferKind::kReduce, 0, from, to});
      }
    }
    run_and_check(everybody, {Collective::kAllReduce, 700'001});
    run_and_check(everybody, {Collective::kAllReduce, 700'001}, kSmallPiece);
  }
}

TEST_P(MessageExecution, CarriesOutTheScheduleAndNothingElse) {
  std::vector<Case> cases;
  for_each_request_on(GetParam(), [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    // Of the roots, the first and the last: the others are theirs, renumbered.
    if (request.root != 0 && request.root != request.ranks - 1) return;
    const std::size_t block = request.collective == Collective::kBarrier ? 0 : 240;
    cases.push_back({.schedule = algorithm.build(request),
                     .shape = {request.collective, block * static_cast<std::size_t>(request.ranks)}});
  });
  expect_carried_out(GetParam(), cases);
}

TEST_P(MessageExecution, CarriesOutWhatIsComposed) {
  std::vector<Case> cases;
  for_each_composed_request_on(GetParam(), [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    cases.push_back({.schedule = algorithm.build(request),
                     .shape = {request.collective, 240 * static_cast<std::size_t>(request.ranks)}});
  });
  expect_carried_out(GetParam(), cases);
}

/// Rank 0 takes in something from rank 1 and from rank 2, which comes only once rank 0 has told of the first. Whoever
/// recites a plan in the end tells of nothing until then, and whoever does so at the start has nothing in place.
TEST(MessageOperation, TellsOfATransferWhenItIsCarriedOut) {
  constexpr std::size_t kBlock = 200;
  const Schedule sums{.name = "one by one",
                      .collective = Collective::kReduce,
                      .ranks = 3,
                      .chunks = 1,
                      .root = 0,
                      .steps = {{{TransferKind::kReduce, 0, 1, 0}}, {{TransferKind::kReduce, 0, 2, 0}}}};
  const Schedule copies = find_algorithm("star").build({.collective = Collective::kGather, .ranks = 3});
  for (const Schedule& schedule : {sums, copies}) {
    std::atomic<bool> is_first_told = false;
    tcp::on_transports(3, [&](MessageTransport& transport) {
      const int rank = transport.rank();
      std::vector<float> values(3 * kBlock, static_cast<float>(1 + rank));
      std::vector<int> sources;
      const TransferRecorder recorder = [&](const ExecutedTransfer& done) {
        sources.push_back(done.transfer.from);
        const bool sum = schedule.collective == Collective::kReduce;
        const int place = sum ? 0 : done.transfer.from;
        const auto expected = static_cast<float>(sum ? (done.transfer.from == 1 ? 3 : 6) : done.transfer.from + 1);
        EXPECT_EQ(values[static_cast<std::size_t>(place) * kBlock + kBlock - 1], expected) << schedule.name;
        is_first_told = true;
      };
      Subject subject(transport, schedule, {schedule.collective, values.size()});
      if (rank == 0) subject.operation.record_transfers(&recorder);
      const auto at_most = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (rank == 2 && !is_first_told && std::chrono::steady_clock::now() < at_most) std::this_thread::yield();
      EXPECT_TRUE(rank != 2 || is_first_told) << schedule.name;
      subject.run(values.data(), values.data(), 1);
      if (rank == 0) {
        EXPECT_THAT(sources, testing::ElementsAre(1, 2)) << schedule.name;
      }
    });
  }
}

TEST(MessageOperation, DisagreementQuotesBothRanks) {
  const Schedule schedule = find_algorithm("ring").build({.collective = Collective::kAllReduce, .ranks = 2});
  tcp::on_transports(2, [&](MessageTransport& transport) {
    const Shape shape{Collective::kAllReduce, transport.rank() == 0 ? 10U : 12U};
    Subject subject(transport, schedule, shape);
    std::vector<float> values(shape.count);
    try {
      subject.run(values.data(), values.data(), 1);
      ADD_FAILURE() << "they agreed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMismatch);
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("rank 0: all_reduce of 10 float32 (sum, ring)"),
                                               testing::HasSubstr("rank 1: all_reduce of 12 float32 (sum, ring)")));
      transport.fail(error);
    }
  });
}

TEST(MessageOperation, OneThatIsAnothersNextIsNotTheSame) {
  const Schedule schedule = find_algorithm("ring").build({.collective = Collective::kAllReduce, .ranks = 2});
  tcp::on_transports(2, [&](MessageTransport& transport) {
    Subject subject(transport, schedule, {Collective::kAllReduce, 10});
    std::vector<float> values(10);
    try {
      subject.run(values.data(), values.data(), 1 + static_cast<std::uint64_t>(transport.rank()));
      ADD_FAILURE() << "they agreed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("its #1; rank 1"), testing::HasSubstr("its #2)")));
      transport.fail(error);
    }
  });
}

/// Whatever a peer says of it is read to the end of its room.
TEST(MessageOperation, AnAlgorithmsNameWithoutAnEndIsCut) {
  const Schedule schedule = find_algorithm("direct").build({.collective = Collective::kBroadcast, .ranks = 2});
  std::atomic<bool> over = false;
  tcp::on_transports(2, [&](MessageTransport& transport) {
    if (transport.rank() == 0) {
      Announcement said;
      said.algorithm.fill('x');
      const iovec span{&said, sizeof said};
      EXPECT_EQ(transport.send(1, std::span(&span, 1)), sizeof said);
      while (!over) std::this_thread::yield();
      return;
    }
    Subject subject(transport, schedule, {Collective::kBroadcast, 1});
    float value = 0;
    try {
      subject.run(&value, &value, 1);
      ADD_FAILURE() << "they agreed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("(" + std::string(sizeof Announcement::algorithm - 1, 'x') + ")"));
    }
    over = true;
  });
}

TEST(MessageOperation, ADeadlineNamesWhoDidNotCome) {
  const Schedule schedule = find_algorithm("direct").build({.collective = Collective::kAllReduce, .ranks = 3});
  std::atomic<int> given_up = 0;
  tcp::on_transports(3, [&](MessageTransport& transport) {
    if (transport.rank() == 1) {
      while (given_up < 2) std::this_thread::yield();
      return;
    }
    const Shape shape{Collective::kAllReduce, 1000};
    Subject subject(transport, schedule, shape);
    std::vector<float> values(shape.count);
    try {
      subject.run(values.data(), values.data(), 1, std::chrono::milliseconds(200));
      ADD_FAILURE() << "it completed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kTimeout);
      EXPECT_THAT(error.what(), testing::HasSubstr("for rank 1, which did not come to it"));
    }
    ++given_up;
    while (given_up < 2) std::this_thread::yield();  // who leaves earlier would be named for that
  });
}

/// Or what its peers say would fill the connection, and the system would break that.
TEST(MessageOperation, WhoNeverWaitsHearsItsPeers) {
  const Schedule schedule = find_algorithm("direct").build({.collective = Collective::kBroadcast, .ranks = 2});
  std::atomic<bool> over = false;
  tcp::on_transports(2, [&](MessageTransport& transport) {
    if (transport.rank() == 1) {
      const std::byte what{7};
      transport.tell(0, std::span(&what, 1));
      while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    Subject subject(transport, schedule, {Collective::kBroadcast, 1});
    float value = 1;
    const Call call{.input = &value, .output = &value, .purpose = "", .timeout = std::chrono::seconds(20)};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (std::uint64_t sequence = 1; transport.told_by(1).empty() && std::chrono::steady_clock::now() < end;
         ++sequence) {
      subject.operation.begin(call, sequence);
      EXPECT_TRUE(subject.operation.advance()) << "a root does not wait";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(transport.told_by(1).size(), 1U);
    over = true;
  });
}

}  // namespace lockstep
