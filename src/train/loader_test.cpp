#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/loader.h>

#include "train/batch_share.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Sample i is the vector (i, i), its target i.
class Numbers : public torch::data::datasets::Dataset<Numbers> {
 public:
  explicit Numbers(std::size_t size) : size_(size) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {torch::full({2}, i, torch::kInt64), torch::tensor(i)};
  }
  torch::optional<std::size_t> size() const override { return size_; }

 private:
  std::size_t size_;
};

std::vector<std::int64_t> values(const torch::Tensor& tensor) {
  const auto flat = tensor.contiguous();
  return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

/// Targets of what is left of the loader's epoch.
std::vector<std::int64_t> rest_of(Loader& loader) {
  std::vector<std::int64_t> seen;
  for (auto& batch : loader.epoch()) {
    const auto part = values(batch.target);
    seen.insert(seen.end(), part.begin(), part.end());
  }
  return seen;
}

TEST(Loader, StacksThisRanksShare) {
  run_threads(2, [](World& world) {
    const auto loader = make_loader(Numbers(10), world, {.global_batch = 4, .shuffle = false});
    EXPECT_EQ(loader->batches(), 3);
    std::vector<std::vector<std::int64_t>> seen;
    for (auto& batch : loader->epoch()) {
      EXPECT_EQ(batch.data.sizes(), (std::vector<std::int64_t>{batch.samples, 2}));
      EXPECT_TRUE(torch::equal(batch.data.select(1, 0), batch.target));
      seen.push_back(values(batch.target));
    }
    if (world.rank() == 0) {
      EXPECT_THAT(seen, ElementsAre(ElementsAre(0, 1), ElementsAre(4, 5), ElementsAre(8)));
    } else {
      EXPECT_THAT(seen, ElementsAre(ElementsAre(2, 3), ElementsAre(6, 7), ElementsAre(9)));
    }
  });
}

TEST(Loader, BatchesArePerRankOnRequest) {
  run_threads(2, [](World& world) {
    const auto loader = make_loader(Numbers(12), world, {.per_rank_batch = 3});
    EXPECT_EQ(loader->batches(), 2);
    for (auto& batch : loader->epoch()) {
      EXPECT_EQ(batch.samples, 3);
      EXPECT_EQ(batch.global_samples, 6);
    }
  });
}

TEST(Loader, TakesWhatMapMakesOfADataset) {
  const auto world = World::alone();
  const LoaderOptions options{.global_batch = 3, .shuffle = false};
  const auto plain = make_loader(
      Numbers(3).map(torch::data::transforms::Lambda<torch::data::Example<>>(
          [](torch::data::Example<> example) { return torch::data::Example<>(example.data * 10, example.target); })),
      world, options);
  for (auto& batch : plain->epoch()) EXPECT_THAT(values(batch.data), ElementsAre(0, 0, 10, 10, 20, 20));
  const auto stacked = make_loader(Numbers(3).map(torch::data::transforms::Stack<>()), world, options);
  for (auto& batch : stacked->epoch()) EXPECT_THAT(values(batch.target), ElementsAre(0, 1, 2));
}

TEST(Loader, EpochsAdvanceByThemselves) {
  const auto loader = make_loader(Numbers(20), World::alone(), {.global_batch = 6, .seed = 1});
  auto first = rest_of(*loader);
  auto second = rest_of(*loader);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(loader->position().epoch, 2);
}

TEST(Loader, BreakMovesOnToTheNextEpoch) {
  const LoaderOptions options{.global_batch = 6, .seed = 1};
  const auto loader = make_loader(Numbers(20), World::alone(), options);
  for ([[maybe_unused]] auto& batch : loader->epoch()) break;
  EXPECT_EQ(loader->position().epoch, 1);
  const auto other = make_loader(Numbers(20), World::alone(), options);
  rest_of(*other);
  EXPECT_EQ(rest_of(*loader), rest_of(*other));
}

TEST(Loader, ResumesWithTheNextBatch) {
  const LoaderOptions options{.global_batch = 6, .seed = 1};
  const auto loader = make_loader(Numbers(20), World::alone(), options);
  rest_of(*loader);
  LoaderPosition saved;
  std::vector<std::int64_t> after;
  int batches = 0;
  for (auto& batch : loader->epoch()) {
    const auto part = values(batch.target);
    if (batches >= 2) after.insert(after.end(), part.begin(), part.end());
    if (++batches == 2) saved = loader->position();
  }
  EXPECT_EQ(saved.epoch, 1);
  EXPECT_EQ(saved.batch, 2);

  const auto resumed = make_loader(Numbers(20), World::alone(), options);
  resumed->set_position(saved);
  EXPECT_EQ(rest_of(*resumed), after);
  EXPECT_EQ(rest_of(*resumed), rest_of(*loader));
  resumed->set_position({.epoch = 1, .batch = 4});  // all of epoch 1
  EXPECT_EQ(resumed->position().epoch, 2);
}

TEST(Loader, RankWithoutSamplesGetsOneWithoutWeight) {
  run_threads(3, [](World& world) {
    const auto loader = make_loader(Numbers(5), world, {.global_batch = 3, .shuffle = false});
    int last = 0;
    for (auto& batch : loader->epoch()) {
      last = static_cast<int>(batch.samples);
      EXPECT_EQ(batch.target.size(0), std::max<std::int64_t>(batch.samples, 1));
      EXPECT_GE(batch.target.min().item<std::int64_t>(), batch.global_samples == 3 ? 0 : 3);
    }
    EXPECT_EQ(last, world.rank() == 0 ? 0 : 1);
  });
}

TEST(Loader, TellsTheGroupHowMuchItsBatchWeighs) {
  run_threads(2, [](World& world) {
    const auto& share = world.attribute<BatchShare>();
    const auto loader = make_loader(Numbers(5), world, {.global_batch = 5});
    for (auto& batch : loader->epoch()) {
      EXPECT_EQ(share.local, batch.samples);
      EXPECT_EQ(share.global, 5);
      EXPECT_DOUBLE_EQ(share.factor(2), world.rank() == 0 ? 0.8 : 1.2);
    }
    EXPECT_DOUBLE_EQ(share.factor(2), 1.0);  // what comes after the loop is no batch of this loader
  });
}

TEST(Loader, RefusesWhatMakesNoSense) {
  const auto world = World::alone();
  const auto made_with = [&world](std::size_t size, LoaderOptions options) {
    return [&world, size, options] { make_loader(Numbers(size), world, options); };
  };
  EXPECT_THAT(made_with(0, {.global_batch = 2}), ThrowsMessage<Error>(HasSubstr("no samples")));
  EXPECT_THAT(made_with(9, {}), ThrowsMessage<Error>(HasSubstr("they are 0 and 0")));
  EXPECT_THAT(made_with(9, {.global_batch = 2, .per_rank_batch = 2}),
              ThrowsMessage<Error>(HasSubstr("they are 2 and 2")));
  EXPECT_THAT(made_with(9, {.global_batch = -2}), ThrowsMessage<Error>(HasSubstr("they are -2 and 0")));
  EXPECT_THAT(made_with(9, {.global_batch = 10, .drop_last = true}),
              ThrowsMessage<Error>(HasSubstr("no global batch of 10")));
  const auto loader = make_loader(Numbers(9), world, {.global_batch = 2});
  EXPECT_THAT([&] { loader->set_position({.epoch = 0, .batch = 6}); },
              ThrowsMessage<Error>(HasSubstr("5 batches an epoch")));
}

class Endless : public Numbers {
 public:
  using Numbers::Numbers;
  torch::optional<std::size_t> size() const override { return {}; }
};

TEST(Loader, RefusesADatasetWithoutSize) {
  EXPECT_THAT([] { make_loader(Endless(3), World::alone(), {.global_batch = 2}); },
              ThrowsMessage<Error>(HasSubstr("knows its size")));
}

}  // namespace
}  // namespace lockstep
