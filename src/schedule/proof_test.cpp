#include "schedule/proof.h"

#include "base/sanitizers_for_tests.h"
#include "schedule/builder.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two ranks, two chunks: rank r sums chunk r and sends it to the other.
Schedule exchange() {
  ScheduleBuilder s({.name = "exchange", .ranks = 2, .chunks = 2});
  s.reduce(0, {.from = 1, .to = 0});
  s.reduce(1, {.from = 0, .to = 1});
  s.end_step();
  s.copy(0, {.from = 0, .to = 1});
  s.copy(1, {.from = 1, .to = 0});
  return s.take();
}

Schedule one_chunk(int ranks, std::vector<Step> steps, Collective collective = Collective::kAllReduce) {
  return {.name = "test", .collective = collective, .ranks = ranks, .chunks = 1, .root = 0, .steps = std::move(steps)};
}
Transfer reduce(int from, int to) { return {TransferKind::kReduce, 0, from, to}; }
Transfer copy(int from, int to) { return {TransferKind::kCopy, 0, from, to}; }

/// Ranks 0 and 3 have (0+3). Whoever takes it from rank 0 puts it first, whoever takes it from rank 3 last.
Schedule two_orders() {
  const Step exchange{reduce(0, 3), reduce(3, 0)};
  const Step from_both{reduce(0, 1), reduce(2, 1), reduce(3, 2), reduce(1, 2),
                       reduce(1, 0), reduce(2, 0), reduce(1, 3), reduce(2, 3)};
  return one_chunk(4, {exchange, from_both});
}

/// The only chunk of an all_reduce becomes the second: before it comes one that rank 0 sums.
Schedule with_a_chunk_before(Schedule schedule) {
  schedule.chunks = 2;
  schedule.steps.resize(std::max<std::size_t>(schedule.steps.size(), 2));
  for (Step& step : schedule.steps) {
    for (Transfer& transfer : step) transfer.chunk = 1;
  }
  for (int rank = 1; rank < schedule.ranks; ++rank) {
    schedule.steps[0].push_back(reduce(rank, 0));
    schedule.steps[1].push_back(copy(0, rank));
  }
  return schedule;
}

void expect_refused(const Schedule& schedule, int rank, int chunk, int step, const std::string& words) {
  const Proof proof = prove(schedule);
  ASSERT_FALSE(proof.proved()) << "proved, though " << words;
  EXPECT_EQ(proof.refusal->rank, rank);
  EXPECT_EQ(proof.refusal->chunk, chunk);
  EXPECT_EQ(proof.refusal->step, step);
  EXPECT_THAT(proof.refusal->sentence, HasSubstr(words));
  EXPECT_THAT(proof.orders, IsEmpty());
}

/// Whether it is proved while this process may take `mebibytes` of address space more than it has.
bool proved_within(std::size_t mebibytes, const Schedule& schedule) {
  std::ifstream status("/proc/self/status");
  std::size_t kibibytes = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmSize:")) kibibytes = std::stoul(line.substr(7));
  }
  EXPECT_GT(kibibytes, 0U);
  rlimit before{};
  EXPECT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = (kibibytes << 10) + (mebibytes << 20);
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  const bool proved = [&] {
    try {
      return prove(schedule).proved();
    } catch (const std::bad_alloc&) {
      return false;
    }
  }();
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  return proved;
}

}  // namespace

TEST(Proof, ProvesAnExchangeAndReportsItsOrders) {
  const Proof proof = prove(exchange());
  ASSERT_TRUE(proof.proved()) << describe(*proof.refusal);
  ASSERT_EQ(proof.orders.size(), 1U);
  EXPECT_EQ(proof.orders[0].expression, "(0+1)");
  EXPECT_THAT(proof.orders[0].chunks, ElementsAre(0, 1)) << "1+0 is 0+1";
  EXPECT_TRUE(proof.canonical);
}

TEST(Proof, RanksMayReadFromEachOtherWhatTheyReduceInto) {
  const Proof proof = prove(one_chunk(2, {{reduce(1, 0), reduce(0, 1)}}));
  ASSERT_TRUE(proof.proved()) << describe(*proof.refusal);
  EXPECT_TRUE(proof.canonical);
}

TEST(Proof, RefusesRanksThatSumInDifferentOrders) {
  expect_refused(two_orders(), 2, 0, 1,
                 "other bits than rank 0, which sums in another order: ((0+3)+(1+2)), not (((0+3)+1)+2)");
}

/// Rank 1 has all four meet in a step, in float32 where they are of 16 bits; rank 0 stores (0+1), and takes (2+3),
/// which rank 2 has stored: both are rounded once more.
TEST(Proof, RefusesRanksThatRoundOtherPartsOfASum) {
  const Schedule schedule = one_chunk(4, {{reduce(1, 0), reduce(3, 2), reduce(0, 1), reduce(2, 1), reduce(3, 1)},
                                          {reduce(2, 0)},
                                          {copy(0, 2), copy(0, 3)}});
  EXPECT_TRUE(concrete::delivers(schedule));
  EXPECT_FALSE(concrete::bits_of(schedule).equal_on_all_ranks);
  expect_refused(schedule, 1, 0, 0,
                 "rank 1 would end with other 16-bit floats than rank 0, which rounds other parts of ((0+1)+(2+3))");
}

TEST(Proof, SaysWhichSumsAreCanonical) {
  const auto proof_of = [](int ranks, std::vector<Step> steps) { return prove(one_chunk(ranks, std::move(steps))); };
  EXPECT_TRUE(proof_of(3, {{reduce(1, 0), reduce(2, 0)}, {copy(0, 1), copy(0, 2)}}).canonical);
  const Proof chain = proof_of(3, {{reduce(2, 1)}, {reduce(1, 0)}, {copy(0, 1), copy(0, 2)}});
  ASSERT_TRUE(chain.proved());
  EXPECT_EQ(chain.orders[0].expression, "(0+(1+2))");
  EXPECT_FALSE(chain.canonical);
  EXPECT_FALSE(proof_of(3, {{reduce(2, 1)}}).canonical) << "refused";
  EXPECT_TRUE(prove(one_chunk(2, {{copy(0, 1)}}, Collective::kBroadcast)).canonical) << "nothing is summed";
}

TEST(Proof, SaysWhereSixteenBitsAreRoundedOnce) {
  EXPECT_TRUE(prove(one_chunk(3, {{reduce(1, 0), reduce(2, 0)}, {copy(0, 1), copy(0, 2)}})).canonical_in_16_bits);
  const Proof pairs =
      prove(one_chunk(4, {{reduce(1, 0), reduce(3, 2)}, {reduce(2, 0)}, {copy(0, 1), copy(0, 2), copy(0, 3)}}));
  EXPECT_TRUE(pairs.canonical);
  EXPECT_FALSE(pairs.canonical_in_16_bits) << "2+3 is rounded, then added";
  const Proof one_by_one = prove(one_chunk(3, {{reduce(1, 0)}, {reduce(2, 0)}, {copy(0, 1), copy(0, 2)}}));
  EXPECT_TRUE(one_by_one.canonical);
  EXPECT_FALSE(one_by_one.canonical_in_16_bits) << "0+1 is rounded, then added to";
  EXPECT_FALSE(prove(one_chunk(3, {{reduce(2, 1)}})).canonical_in_16_bits) << "refused";
}

/// Who hears from somebody twice, or from more than another and in another order, may leave all the same.
TEST(Proof, ABarrierSumsNothing) {
  const Step next{reduce(0, 1), reduce(1, 2), reduce(2, 0)};
  const Step over_next{reduce(0, 2), reduce(1, 0), reduce(2, 1)};
  const Proof dissemination = prove(one_chunk(3, {next, over_next}, Collective::kBarrier));
  EXPECT_TRUE(dissemination.proved()) << describe(*dissemination.refusal);
  EXPECT_THAT(dissemination.orders, IsEmpty());
  EXPECT_TRUE(dissemination.canonical_in_16_bits) << "nothing that could be rounded";
  expect_refused(one_chunk(3, {next, over_next}), 0, 0, 1, "would count the contribution of rank 0 twice");
  expect_refused(one_chunk(3, {next}, Collective::kBarrier), 0, 0, 0, "ends with the contributions 0+2 only");
  expect_refused(one_chunk(3, {next, {copy(0, 1)}}, Collective::kBarrier), 0, 0, 1, "copy of a partial sum (0+2)");
  expect_refused(one_chunk(2, {{reduce(0, 1), reduce(1, 0), reduce(0, 1)}}, Collective::kBarrier), 1, 0, 0,
                 "rank 1 is told twice by rank 0 in one step");
  for (const int first : {0, 1}) {
    const std::vector<Step> answered{{reduce(first, 1 - first)}, {reduce(1 - first, first)}};
    EXPECT_TRUE(prove(one_chunk(2, answered, Collective::kBarrier)).proved()) << "all that one knows, and more";
  }
  EXPECT_TRUE(prove(one_chunk(2, std::vector<Step>(200, {reduce(0, 1), reduce(1, 0)}), Collective::kBarrier)).proved());
}

TEST(Proof, RefusesWhatIsOutOfRange) {
  expect_refused({.name = "none", .ranks = 0}, -1, -1, -1, "1 to 1024 ranks, not 0");
  expect_refused({.name = "many", .ranks = 1 << 30}, -1, -1, -1, "1 to 1024 ranks");
  expect_refused({.name = "chunks", .ranks = 2, .chunks = 1 << 30}, -1, -1, -1,
                 "a schedule of 2 ranks has 1 to 65536 chunks, not");
  expect_refused({.name = "blocks", .collective = Collective::kAllGather, .ranks = 2, .chunks = 3}, -1, -1, -1,
                 "multiple of 2 chunks");
  expect_refused({.name = "root", .collective = Collective::kBroadcast, .ranks = 2, .root = 2}, -1, -1, -1,
                 "no rank 2 among 2 to be the root");
  expect_refused({.name = "pairs", .collective = Collective::kAllToAll, .ranks = 2, .chunks = 6}, -1, -1, -1,
                 "multiple of 4 chunks, one block a pair of ranks");
  expect_refused({.name = "root", .ranks = 2, .root = 1}, -1, -1, -1, "all_reduce has no root");
  expect_refused({.name = "long", .ranks = 1000, .steps = std::vector<Step>(5000)}, -1, -1, -1,
                 "at most 4194 steps, not 5000");
  expect_refused(one_chunk(2, {{reduce(1, 2)}}), -1, -1, 0, "no rank 2 among 2");
  expect_refused(one_chunk(2, {{reduce(-1, 0)}}), -1, -1, 0, "no rank -1");
  expect_refused(one_chunk(2, {{}, {{TransferKind::kCopy, 1, 0, 1}}}), -1, -1, 1, "no chunk 1 among 1");
  expect_refused(one_chunk(2, {{reduce(1, 1)}}), 1, 0, 0, "sends to itself");
}

TEST(Proof, RefusesTransfersOfAStepThatDependOnEachOther) {
  expect_refused(one_chunk(3, {{copy(0, 1), copy(1, 2)}}, Collective::kBroadcast), 1, 0, 0, "in which it takes a copy");
  expect_refused(one_chunk(3, {{reduce(1, 0), reduce(2, 0)}, {copy(0, 1), reduce(1, 2)}}), 1, 0, 1,
                 "in which it takes a copy");
  expect_refused(one_chunk(3, {{copy(0, 1), copy(0, 1)}}, Collective::kBroadcast), 1, 0, 0,
                 "takes a copy and something else");
}

TEST(Proof, WhatDependsIsFoundInWhateverOrderAStepListsIt) {
  const std::vector<std::pair<Step, std::string>> dependent{
      {{copy(0, 1), reduce(1, 2)}, "rank 1 sends the chunk in the step in which it takes a copy"},
      {{copy(0, 1), reduce(2, 1)}, "rank 1 takes a copy and something else besides in one step"}};
  for (const Collective collective : {Collective::kAllReduce, Collective::kBarrier}) {
    for (const auto& [step, words] : dependent) {
      for (const Step& listed : {step, Step{step.rbegin(), step.rend()}}) {
        expect_refused(one_chunk(3, {{reduce(1, 0), reduce(2, 0)}, listed, {copy(0, 2)}}, collective), 1, 0, 1, words);
      }
    }
  }
}

TEST(Proof, RefusesWhatDoesNotAddUp) {
  expect_refused(one_chunk(2, {}), 0, 0, -1, "ends with the contributions 0 only");
  expect_refused(one_chunk(2, {}, Collective::kBroadcast), 1, 0, -1, "ends without it");
  expect_refused(one_chunk(2, {{reduce(1, 0)}, {reduce(1, 0)}}), 0, 0, 1, "count the contribution of rank 1 twice");
  expect_refused(one_chunk(3, {{copy(1, 2)}}, Collective::kBroadcast), 1, 0, 0, "sends what it does not hold");
  expect_refused(one_chunk(2, {{reduce(0, 1)}}, Collective::kBroadcast), 1, 0, 0, "has nothing to add to");
}

/// A block for rank 1 that goes over rank 2 would lie there where rank 2's own is to come.
TEST(Proof, RefusesRelaysInAnAllToAll) {
  Schedule schedule{.name = "relay", .collective = Collective::kAllToAll, .ranks = 3, .chunks = 9};
  const auto move = [](int chunk, int from, int to) { return Transfer{TransferKind::kCopy, chunk, from, to}; };
  schedule.steps = {
      {move(2, 0, 2), move(3, 1, 0), move(5, 1, 2), move(6, 2, 0), move(7, 2, 1)}, {move(1, 0, 2)}, {move(1, 2, 1)}};
  expect_refused(schedule, 2, 1, 1, "rank 2 has no room for what is for rank 1");
  schedule.steps = {schedule.steps[0], {move(1, 0, 1)}};
  EXPECT_TRUE(prove(schedule).proved());
}

TEST(Proof, NamesTheChunkThatIsRefused) {
  expect_refused(with_a_chunk_before(one_chunk(2, {{reduce(1, 0)}, {reduce(1, 0)}})), 0, 1, 1, "of rank 1 twice");
  expect_refused(with_a_chunk_before(one_chunk(2, {{reduce(0, 0)}})), 0, 1, 0, "sends to itself");
  expect_refused(with_a_chunk_before(one_chunk(2, {{copy(0, 1)}})), 0, 1, 0, "sends a copy of a partial sum");
  expect_refused(with_a_chunk_before(one_chunk(2, {{reduce(1, 0)}})), 1, 1, 1, "ends with the contributions 1 only");
  expect_refused(with_a_chunk_before(two_orders()), 2, 1, 1, "which sums in another order");
}

TEST(Proof, RefusesTransfersForNothingAndCopiesOfPartialSums) {
  expect_refused(one_chunk(2, {{reduce(1, 0)}, {copy(0, 1)}, {copy(0, 1)}}), 1, 0, 2, "holds already");
  expect_refused(one_chunk(3, {{reduce(1, 0)}, {copy(0, 1)}, {reduce(2, 0)}}), 0, 0, 1, "copy of a partial sum (0+1)");
}

TEST(Proof, MemoryGrowsWithTheTransfersAlone) {
  if (testing_support::kUnderAddressSanitizer) GTEST_SKIP() << "AddressSanitizer keeps what is freed";
  Schedule pause = one_chunk(64, std::vector<Step>(kMostSteps), Collective::kBarrier);
  for (int rank = 1; rank < 64; ++rank) pause.steps.front().push_back(reduce(rank, 0));
  for (int rank = 1; rank < 64; ++rank) pause.steps.back().push_back(copy(0, rank));
  EXPECT_TRUE(proved_within(48, pause)) << "48 bytes for each rank in each step would be 192 MiB";
  constexpr int kRanks = 400;
  Step all_at_once;
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      if (from != to) all_at_once.push_back(reduce(from, to));
    }
  }
  EXPECT_TRUE(proved_within(96, one_chunk(kRanks, {all_at_once}))) << "a KiB for each pair of ranks would be 156 MiB";
}

TEST(Proof, ListsOrdersOfSoManyRanksAndNoMore) {
  for (const int ranks : {kMostRanksInOrders, kMostRanksInOrders + 1}) {
    Schedule star = one_chunk(ranks, std::vector<Step>(2));
    for (int rank = 1; rank < ranks; ++rank) {
      star.steps[0].push_back(reduce(rank, 0));
      star.steps[1].push_back(copy(0, rank));
    }
    const Proof proof = prove(star);
    EXPECT_TRUE(proof.canonical);
    EXPECT_EQ(proof.orders.size(), ranks <= kMostRanksInOrders ? 1U : 0U);
  }
}

TEST(Proof, AnErrorNamesTheScheduleAndThePlace) {
  try {
    require_proved(one_chunk(2, {{reduce(1, 0)}, {reduce(1, 0)}}));
    FAIL() << "proved";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_STREQ(
        error.what(),
        "The schedule 'test' is refused: step 1, chunk 0, rank 0: rank 0 would count the contribution of rank 1 "
        "twice.");
  }
  EXPECT_NO_THROW(require_proved(exchange()));
}

}  // namespace lockstep
