#include "train/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using Indices = std::vector<std::size_t>;

Sampler::Options options(std::size_t size, std::size_t global_batch) {
  return {.size = size, .global_batch = global_batch, .seed = 5};
}

/// Batch `batch` of epoch 0 as `ranks` ranks together see it, in rank order.
Indices global_batch(Sampler::Options o, int ranks, std::size_t batch) {
  Indices all;
  o.ranks = ranks;
  for (o.rank = 0; o.rank < ranks; ++o.rank) {
    Sampler sampler(o);
    sampler.begin_epoch(0);
    const auto share = sampler.share(batch);
    all.insert(all.end(), share.indices.begin(), share.indices.end());
  }
  return all;
}

TEST(Permutation, IsThatOfTheDocumentedAlgorithm) {
  // Golden values, from a second implementation (in Python): a checkpoint made on one platform must go on the same way
  // on another.
  EXPECT_THAT(permutation(8, 0, 0), ElementsAre(7, 1, 0, 6, 3, 2, 4, 5));
  EXPECT_THAT(permutation(8, 7, 4), ElementsAre(4, 6, 7, 1, 2, 5, 3, 0));
}

TEST(Permutation, HoldsEveryIndexOnce) {
  for (std::size_t size : {0, 1, 2, 3, 17, 1000}) {
    auto order = permutation(size, 3, 4);
    std::sort(order.begin(), order.end());
    Indices expected(size);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(order, expected);
  }
}

TEST(Permutation, DependsOnSeedAndEpoch) {
  EXPECT_EQ(permutation(100, 1, 2), permutation(100, 1, 2));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 1, 3));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 2, 2));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 2, 1));
}

TEST(Permutation, IsUniform) {
  // 24 orders of 4 samples over 24,000 epochs: chi-square with 23 degrees of freedom is above 49.7 once in a thousand.
  std::vector<int> counts(256);
  const int epochs = 24000;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto order = permutation(4, 11, static_cast<std::uint64_t>(epoch));
    ++counts[order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3]];
  }
  double chi_square = 0;
  int seen = 0;
  for (int count : counts) {
    if (count == 0) continue;
    ++seen;
    chi_square += (count - epochs / 24.0) * (count - epochs / 24.0) / (epochs / 24.0);
  }
  EXPECT_EQ(seen, 24);
  EXPECT_LT(chi_square, 49.7);
}

TEST(Sampler, AnyNumberOfRanksSeesTheSameGlobalBatches) {
  for (std::size_t batch = 0; batch < 4; ++batch) {
    const auto alone = global_batch(options(50, 14), 1, batch);
    for (int ranks : {2, 3, 4, 8, 16}) EXPECT_EQ(global_batch(options(50, 14), ranks, batch), alone) << ranks;
  }
}

TEST(Sampler, EpochVisitsEverySampleOnce) {
  Indices seen;
  for (std::size_t batch = 0; batch < 4; ++batch) {
    const auto part = global_batch(options(50, 14), 3, batch);
    seen.insert(seen.end(), part.begin(), part.end());
  }
  ASSERT_EQ(seen.size(), 50u);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST(Sampler, SharesDifferByAtMostOne) {
  auto o = options(14, 14);
  o.ranks = 4;
  Indices sizes;
  for (o.rank = 0; o.rank < 4; ++o.rank) {
    Sampler sampler(o);
    sampler.begin_epoch(0);
    sizes.push_back(sampler.share(0).indices.size());
  }
  EXPECT_THAT(sizes, ElementsAre(3, 4, 3, 4));
}

TEST(Sampler, LastBatchIsRaggedOrDropped) {
  auto o = options(50, 14);
  Sampler ragged(o);
  ragged.begin_epoch(0);
  EXPECT_EQ(ragged.batches(), 4u);
  EXPECT_EQ(ragged.share(3).global, 8u);
  o.drop_last = true;
  EXPECT_EQ(Sampler(o).batches(), 3u);
  o.size = 42;
  EXPECT_EQ(Sampler(o).batches(), 3u);
  o.drop_last = false;
  EXPECT_EQ(Sampler(o).batches(), 3u);
}

TEST(Sampler, RankWithoutSamplesIsGivenOneOfTheBatch) {
  auto o = options(9, 4);  // the last batch has one sample
  o.ranks = 4;
  o.rank = 0;
  Sampler sampler(o);
  sampler.begin_epoch(0);
  const auto share = sampler.share(2);
  EXPECT_TRUE(share.indices.empty());
  EXPECT_EQ(share.global, 1u);
  EXPECT_THAT(global_batch(o, 4, 2), ElementsAre(share.stand_in));
}

TEST(Sampler, WithoutShufflingEpochsAreInOrder) {
  auto o = options(5, 2);
  o.shuffle = false;
  Sampler sampler(o);
  sampler.begin_epoch(3);
  EXPECT_THAT(sampler.share(0).indices, ElementsAre(0, 1));
  EXPECT_THAT(sampler.share(2).indices, ElementsAre(4));
}

}  // namespace
}  // namespace lockstep
