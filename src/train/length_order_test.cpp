#include "train/length_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

#include "train/permutation.h"
#include "train/sampler.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using Indices = std::vector<std::size_t>;
using Lengths = std::vector<std::int64_t>;

/// 1 to 10, over and over.
Lengths some_lengths(std::size_t size) {
  Lengths lengths;
  for (std::size_t i = 0; i < size; ++i) lengths.push_back(static_cast<std::int64_t>(i * 7 % 10 + 1));
  return lengths;
}

Indices grouped(const Lengths& lengths, std::size_t global_batch, EpochSeed when) {
  auto order = permutation(lengths.size(), when.seed, when.epoch);
  group_by_length(order, lengths, global_batch, when);
  return order;
}

TEST(GroupByLength, IsTheDocumentedOrder) {
  // From a second implementation (in Python): a checkpoint made on one platform goes on the same way on another.
  EXPECT_THAT(
      grouped(some_lengths(26), 3, {.seed = 5, .epoch = 2}),
      ElementsAre(22, 25, 24, 18, 4, 7, 19, 8, 21, 15, 1, 14, 16, 2, 5, 3, 23, 9, 0, 6, 12, 10, 20, 13, 11, 17));
}

TEST(GroupByLength, LosesAndDoublesNothing) {
  for (std::size_t size : {1, 4, 5, 199, 1000, 1003}) {
    auto order = grouped(some_lengths(size), 5, {.seed = 1, .epoch = 3});
    std::sort(order.begin(), order.end());
    Indices expected(size);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(order, expected);
  }
}

TEST(GroupByLength, DependsOnSeedAndEpoch) {
  const auto lengths = some_lengths(300);
  EXPECT_EQ(grouped(lengths, 6, {1, 2}), grouped(lengths, 6, {1, 2}));
  EXPECT_NE(grouped(lengths, 6, {1, 2}), grouped(lengths, 6, {1, 3}));
  EXPECT_NE(grouped(lengths, 6, {1, 2}), grouped(lengths, 6, {2, 2}));
}

TEST(GroupByLength, LongBatchesComeAtAnyTime) {
  // Without the shuffle of batches each pool would run from short to long: positions and lengths would go together.
  const auto lengths = some_lengths(6000);
  const auto order = grouped(lengths, 10, {.seed = 4, .epoch = 0});
  double early = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % 500 < 250) early += static_cast<double>(lengths[order[i]]);
  }
  EXPECT_NEAR(early / 3000, 5.5, 0.5);  // half of 600 batches' means, of standard deviation 2.9 / sqrt(300) = 0.17
}

TEST(GroupByLength, SamplesLeftOverAreAsTheyWereShuffled) {
  const auto lengths = some_lengths(1004);
  const auto order = grouped(lengths, 10, {.seed = 4, .epoch = 1});
  const auto shuffled = permutation(1004, 4, 1);
  EXPECT_TRUE(std::equal(order.begin() + 1000, order.end(), shuffled.begin() + 1000, shuffled.end()));
}

/// What an epoch costs if each rank pads its samples to its longest.
struct Cost {
  double real = 0;     ///< summed lengths
  double padded = 0;   ///< and with padding
  double slowest = 0;  ///< summed over batches, the rank's with most

  double padding() const { return 1 - real / padded; }
  double imbalance(int ranks) const { return slowest * ranks / padded; }
};

Cost cost_of_epoch(const Lengths& lengths, Sampler::Options options) {
  std::vector<Sampler> ranks;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) ranks.emplace_back(options).begin_epoch(0);
  Cost cost;
  for (std::size_t batch = 0; batch < ranks[0].batches(); ++batch) {
    double slowest = 0;
    for (const Sampler& rank : ranks) {
      const auto indices = rank.share(batch).indices;
      std::int64_t longest = 0;
      for (const std::size_t index : indices) {
        longest = std::max(longest, lengths[index]);
        cost.real += static_cast<double>(lengths[index]);
      }
      const double padded = static_cast<double>(longest) * static_cast<double>(indices.size());
      cost.padded += padded;
      slowest = std::max(slowest, padded);
    }
    cost.slowest += slowest;
  }
  return cost;
}

/// Words of each sentence of SST-2's training set, and two for its ends. Empty where the file is absent.
Lengths sst2_lengths() {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  std::ifstream file(std::filesystem::path(data ? data : "") / "sst2" / "train.tsv");
  Lengths lengths;
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) {
    std::istringstream sentence(line.substr(0, line.rfind('\t')));
    std::int64_t words = 2;
    for (std::string word; sentence >> word;) ++words;
    lengths.push_back(words);
  }
  return lengths;
}

TEST(GroupByLength, SavesPaddingAndBalancesRanksOnRealSentences) {
  const auto lengths = sst2_lengths();
  if (lengths.empty()) GTEST_SKIP() << "LOCKSTEP_TEST_DATA has no sst2/train.tsv";
  ASSERT_EQ(lengths.size(), 67349u);
  for (const auto& [global_batch, ranks] : {std::pair{32, 4}, {64, 2}, {128, 4}, {128, 8}}) {
    Sampler::Options options{
        .size = lengths.size(), .global_batch = static_cast<std::size_t>(global_batch), .ranks = ranks, .seed = 7};
    const auto without = cost_of_epoch(lengths, options);
    options.lengths = lengths;
    const auto with = cost_of_epoch(lengths, options);
    EXPECT_EQ(with.real, without.real);
    EXPECT_GT(without.padding(), 0.45);
    EXPECT_LT(with.padding(), 0.03);
    EXPECT_GT(without.imbalance(ranks), 1.1);
    EXPECT_LT(with.imbalance(ranks), 1.05);
    EXPECT_LT(with.slowest, 0.5 * without.slowest);
    std::printf("%d samples on %d ranks: padding %.1f %% -> %.1f %%, slowest rank over mean %.3f -> %.3f\n",
                global_batch, ranks, 100 * without.padding(), 100 * with.padding(), without.imbalance(ranks),
                with.imbalance(ranks));
  }
}

}  // namespace
}  // namespace lockstep
