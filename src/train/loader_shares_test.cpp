// Unequal shares and batches of similar length: who gets what, and the same training as one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/padding.h>

#include "train/test_loader.h"
#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::rest_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Sentences of 1 to 9 words, whose class depends on the words; sample i depends on i only.
class Sentences : public torch::data::datasets::Dataset<Sentences> {
 public:
  static constexpr std::size_t kSize = 45;
  static std::int64_t length(std::size_t index) { return static_cast<std::int64_t>(index * 5 % 9 + 1); }
  static std::vector<std::int64_t> lengths() {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < kSize; ++i) all.push_back(length(i));
    return all;
  }
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    const auto words = (torch::arange(length(index), torch::kInt64) * 3 + i) % 11 + 1;
    return {words, torch::tensor(words.sum().item<std::int64_t>() % 3)};
  }
  torch::optional<std::size_t> size() const override { return kSize; }
};

/// Classifies the mean of the words' vectors, padding left out.
struct Reader : torch::nn::Module {
  Reader()
      : words(register_module("words", torch::nn::Embedding(12, 8))),
        output(register_module("output", torch::nn::Linear(8, 3))) {}
  torch::Tensor forward(const torch::Tensor& text, const torch::Tensor& lengths) {
    const auto there = padding_mask(lengths).logical_not().unsqueeze(2).to(torch::kFloat32);
    return output(torch::tanh((words(text) * there).sum(1) / there.sum(1)));
  }
  torch::nn::Embedding words;
  torch::nn::Linear output;
};

/// The first weights of a job that has 1, 2, 3, 4 as its ranks' shares.
std::vector<double> uneven(int ranks) {
  std::vector<double> shares;
  for (int rank = 0; rank < ranks; ++rank) shares.push_back(1 + rank);
  return shares;
}

/// What a training does beside the usual.
struct Ways {
  bool by_length = false;
  bool uneven = false;
  bool balance = false;  ///< in mid-epoch, rank r taking r + 1 seconds a unit of work
  int workers = 0;
  bool forget_weight = false;  ///< the mistake: ranks count alike, whatever they were given
};

void train_epoch(Reader& net, Loader& loader, const test::Side& side, DataParallel* replica, const Ways& ways) {
  torch::optim::SGD optimizer(net.parameters(), 0.5);
  std::int64_t work = 0;
  for (auto& batch : loader.epoch()) {
    if (replica && ways.forget_weight) replica->samples(1);
    optimizer.zero_grad();
    const auto lengths = batch.lengths.defined() ? batch.lengths : (batch.data != 0).sum(1);
    torch::nn::functional::cross_entropy(net.forward(batch.data, lengths), batch.target).backward();
    optimizer.step();
    work += batch.samples == 0 ? 0 : ways.by_length ? lengths.sum().item<std::int64_t>() : batch.samples;
    if (ways.balance && loader.position().batch == 2) {
      loader.balance(static_cast<double>(work * (side.group.rank() + 1)) + 1e-9);
    }
  }
}

test::Parity parity_in(int ranks, const Ways& ways, const test::MakeHook& make_hook = nullptr) {
  const auto train = [&ways](const test::Side& side) {
    const auto net = test::seeded(side.seed, [] { return std::make_shared<Reader>(); });
    auto replica = side.replicate(*net);
    LoaderOptions options{.global_batch = 14, .seed = 3};
    if (ways.by_length) options.lengths = Sentences::lengths();
    if (ways.uneven) options.shares = uneven(side.group.size());
    options.workers = side.options ? ways.workers : 0;
    const auto start = test::flat_parameters(*net);
    const auto loader = make_loader(Sentences().map(Pad()), side.group, options);
    for (int epoch = 0; epoch < 5; ++epoch) train_epoch(*net, *loader, side, replica ? &*replica : nullptr, ways);
    return test::flat_parameters(*net) - start;
  };
  return test::parity_of(train, ranks, {}, make_hook);
}

class SharesOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SharesOn, ::testing::Values(1, 2, 3, 4));

TEST_P(SharesOn, BatchesByLengthTrainAsOneProcess) {
  const auto result = parity_in(GetParam(), {.by_length = true});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(SharesOn, UnequalSharesTrainAsOneProcess) {
  const auto result = parity_in(GetParam(), {.uneven = true});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(SharesOn, UnequalSharesOfLengthsMeasuredOnTheWayTrainAsOneProcess) {
  const auto result = parity_in(GetParam(), {.by_length = true, .uneven = true, .balance = true});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(SharesOn, AllOfItWithWorkersTrainsAsOneProcessWithout) {
  const auto result = parity_in(GetParam(), {.by_length = true, .uneven = true, .balance = true, .workers = 2});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST(SharesParity, FailsWhenWeightsAreForgotten) {
  for (int ranks : {2, 3, 4}) {
    EXPECT_GT(parity_in(ranks, {.uneven = true, .forget_weight = true}).difference, 100 * test::kParityTolerance);
    EXPECT_GT(parity_in(ranks, {.by_length = true, .forget_weight = true}).difference, 100 * test::kParityTolerance);
    EXPECT_GT(parity_in(ranks, {.balance = true, .forget_weight = true}).difference, 100 * test::kParityTolerance);
  }
}

TEST(SharesParity, FailsWhenARanksGradientIsDropped) {
  EXPECT_GT(parity_in(3, {.by_length = true, .uneven = true}, test::dropping_the_last_rank()).difference,
            100 * test::kParityTolerance);
}

/// A loader of `size` samples that are their own index.
std::unique_ptr<Loader> indices(const Group& group, std::size_t size, const LoaderOptions& options) {
  const auto fetch = [](const std::vector<std::size_t>& which) {
    const auto tensor = torch::tensor(std::vector<std::int64_t>(which.begin(), which.end()));
    return torch::data::Example<>{tensor, tensor};
  };
  return std::make_unique<Loader>(group, size, fetch, options);
}

TEST(LoaderByLength, TellsTheLengthsOfItsSamples) {
  run_threads(2, [](World& world) {
    const auto loader = indices(world, 4, {.global_batch = 4, .shuffle = false, .lengths = {3, 9, 2, 4}});
    for (auto& batch : loader->epoch()) {
      ASSERT_EQ(batch.samples, world.rank() == 0 ? 1 : 3);
      for (std::int64_t i = 0; i < batch.samples; ++i) {
        const std::int64_t length =
            std::vector<std::int64_t>{3, 9, 2, 4}[static_cast<std::size_t>(batch.data[i].item<std::int64_t>())];
        EXPECT_EQ(batch.lengths[i].item<std::int64_t>(), length);
      }
    }
  });
}

TEST(LoaderByLength, ResumesInMidEpochOnAnotherNumberOfRanks) {
  LoaderOptions options{.global_batch = 6, .seed = 2};
  for (int i = 0; i < 40; ++i) options.lengths.push_back(1 + i * 7 % 13);
  const auto alone = indices(World::alone(), 40, options);
  alone->set_position({.epoch = 1, .batch = 3});
  const auto expected = rest_of(*alone);
  EXPECT_EQ(expected.size(), 40u - 18u);
  for (int ranks : {2, 3}) {
    std::mutex mutex;
    std::vector<std::int64_t> seen;
    run_threads(ranks, [&](World& world) {
      const auto loader = indices(world, 40, options);
      loader->set_position({.epoch = 1, .batch = 3});
      const auto own = rest_of(*loader);
      const std::lock_guard lock(mutex);
      seen.insert(seen.end(), own.begin(), own.end());
    });
    EXPECT_THAT(seen, ::testing::UnorderedElementsAreArray(expected));
  }
}

class SharesWithWorkers : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, SharesWithWorkers, ::testing::Values(0, 2));

TEST_P(SharesWithWorkers, FollowMeasuredSpeeds) {
  run_threads(2, [](World& world) {
    const auto loader = indices(world, 64, {.global_batch = 16, .shuffle = false, .workers = GetParam()});
    std::vector<std::int64_t> samples;
    for (auto& batch : loader->epoch()) {
      samples.push_back(batch.samples);
      // Rank 1 needs three times as long for a sample; what is measured is what was given since the last time.
      loader->balance(static_cast<double>(batch.samples) * (world.rank() == 0 ? 1 : 3));
    }
    if (world.rank() == 0) {
      EXPECT_THAT(samples, ElementsAre(8, 12, 12, 12));
    } else {
      EXPECT_THAT(samples, ElementsAre(8, 4, 4, 4));
    }
    EXPECT_THAT(loader->shares(), ElementsAre(0.75, 0.25));
  });
}

TEST(LoaderShares, ErrorsOfBalanceReachAllRanks) {
  run_threads(2, [](World& world) {
    const auto loader = indices(world, 8, {.global_batch = 4});
    EXPECT_THAT([&] { loader->balance(1); }, ThrowsMessage<Error>(HasSubstr("No rank was given a sample")));
    rest_of(*loader);
    EXPECT_THAT([&] { loader->balance(1 - world.rank()); },
                ThrowsMessage<Error>(HasSubstr("Rank 1 says that its samples took 0 seconds")));
    EXPECT_THAT(loader->shares(), ElementsAre(0.5, 0.5));
  });
}

TEST(LoaderOptions, OfLengthsAndSharesAreChecked) {
  const auto made_with = [](const LoaderOptions& options) {
    return [options] { indices(World::alone(), 3, options); };
  };
  EXPECT_THAT(made_with({.global_batch = 2, .lengths = {1, 2}}),
              ThrowsMessage<Error>(HasSubstr("2 lengths for 3 samples")));
  EXPECT_THAT(made_with({.global_batch = 2, .lengths = {1, 0, 2}}),
              ThrowsMessage<Error>(HasSubstr("sample 1 has the length 0")));
  EXPECT_THAT(made_with({.global_batch = 2, .shares = {1, 1}}),
              ThrowsMessage<Error>(HasSubstr("2 shares for 1 ranks")));
}

TEST(LoaderOptions, ThatDifferBetweenRanksAreNamed) {
  const auto differing = [](const std::function<void(LoaderOptions&)>& change, const std::string& sentence) {
    run_threads(3, [&](World& world) {
      LoaderOptions options{.global_batch = 6, .lengths = {1, 2, 3}};
      if (world.rank() == 2) change(options);
      EXPECT_THAT([&] { indices(world, 3, options); }, ThrowsMessage<Error>(HasSubstr(sentence)));
    });
  };
  differing([](LoaderOptions& options) { options.seed = 4; },
            "The loaders differ: 'seed' is 0 on rank 0 and 4 on rank 2");
  differing([](LoaderOptions& options) { options.lengths = {1, 2, 4}; }, "'lengths' is ");
  differing(
      [](LoaderOptions& options) {
        options.shares = {2, 1, 1};
      },
      "'shares' is 0.333333, 0.333333, 0.333333 on rank 0 and 0.500000, 0.250000, 0.250000 on rank 2");
}

}  // namespace
}  // namespace lockstep
