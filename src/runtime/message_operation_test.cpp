// Every algorithm over real connections: what each rank ends with, what moved, and what is said when ranks disagree.
#include "runtime/message_operation.h"

#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"
#include "runtime/message_cases_for_tests.h"
#include "schedule/segmented.h"
#include "transport/tcp/transports_for_tests.h"

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

/// As pipelines, each of which brings what its collective promises.
TEST_P(MessageExecution, CarriesOutWhatIsCut) {
  std::vector<Case> cases;
  const auto add = [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    if (request.root != 0 && request.root != request.ranks - 1) return;
    const std::size_t block = request.collective == Collective::kBarrier ? 0 : 240;
    cases.push_back({.schedule = segmented(algorithm.build(request), 3),
                     .shape = {request.collective, block * static_cast<std::size_t>(request.ranks)}});
  };
  for_each_request_on(GetParam(), add);
  for_each_composed_request_on(GetParam(), add);
  expect_carried_out(GetParam(), cases);
  run_and_check(GetParam(), cases);
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
