#include "train/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

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

/// With lengths 1 to 11, over and over.
Sampler::Options with_lengths(std::size_t size, std::size_t global_batch) {
  auto o = options(size, global_batch);
  for (std::size_t i = 0; i < size; ++i) o.lengths.push_back(static_cast<std::int64_t>(i * 5 % 11 + 1));
  return o;
}

TEST(Sampler, AnyNumberOfRanksSeesTheSameGlobalBatchesByLength) {
  for (std::size_t batch = 0; batch < 8; ++batch) {
    const auto alone = global_batch(with_lengths(110, 14), 1, batch);
    EXPECT_EQ(alone.size(), batch < 7 ? 14u : 12u);
    for (int ranks : {2, 3, 4, 8, 16}) EXPECT_EQ(global_batch(with_lengths(110, 14), ranks, batch), alone) << ranks;
  }
}

TEST(Sampler, EpochByLengthVisitsEverySampleOnce) {
  Indices seen;
  for (std::size_t batch = 0; batch < 8; ++batch) {
    const auto part = global_batch(with_lengths(110, 14), 3, batch);
    seen.insert(seen.end(), part.begin(), part.end());
  }
  ASSERT_EQ(seen.size(), 110u);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST(Sampler, WorkIsTheSumOfLengthsAndAboutTheSameOnAllRanks) {
  auto o = with_lengths(110, 20);
  o.ranks = 2;
  for (std::size_t batch = 0; batch < 5; ++batch) {
    std::int64_t work[2];
    for (o.rank = 0; o.rank < 2; ++o.rank) {
      Sampler sampler(o);
      sampler.begin_epoch(0);
      const auto share = sampler.share(batch);
      work[o.rank] = share.work;
      std::int64_t sum = 0;
      for (const std::size_t index : share.indices) sum += o.lengths[index];
      EXPECT_EQ(share.work, sum);
    }
    EXPECT_LE(std::abs(work[0] - work[1]), 11);  // one sample at most
  }
}

TEST(Sampler, WithoutShufflingOnlyTheCutIsByLength) {
  auto o = with_lengths(8, 4);  // lengths 1 6 11 5, 10 4 9 3
  o.shuffle = false;
  EXPECT_THAT(global_batch(o, 2, 0), ElementsAre(2, 1, 3, 0));
  EXPECT_THAT(global_batch(o, 2, 1), ElementsAre(4, 6, 5, 7));
  o.ranks = 2;
  EXPECT_THAT(Sampler(o).share(0).indices, ElementsAre(2));
}

TEST(Sampler, SharesByWeightAreOfTheSameGlobalBatches) {
  auto o = options(50, 14);
  o.shares = Shares({2, 1, 4});
  o.ranks = 3;
  Sampler sampler(o);
  sampler.begin_epoch(0);
  EXPECT_EQ(sampler.share(0).indices.size(), 4u);
  EXPECT_EQ(sampler.share(0).work, 4);
  EXPECT_EQ(global_batch(o, 3, 0), global_batch(options(50, 14), 1, 0));
  sampler.set_shares(Shares({6, 1, 0}));
  EXPECT_EQ(sampler.share(0).indices.size(), 12u);
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
