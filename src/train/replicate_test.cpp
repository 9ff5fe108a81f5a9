#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::Vectors;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

TEST(Replicate, GivesEveryRankTheValuesOfRankZero) {
  on_ranks(3, [](World& world) {
    struct Model : torch::nn::Module {
      explicit Model(double value) {
        register_parameter("plain", torch::full({3, 5}, value));
        register_parameter("transposed", torch::full({3, 5}, value).t());
        register_parameter("frozen", torch::full({2}, value), false);
        register_parameter("scalar", torch::full({}, value));
        register_parameter("empty", torch::empty({0}));
        register_buffer("count", torch::full({2}, static_cast<std::int64_t>(value), torch::kInt64));
        register_buffer("flag", torch::full({1}, value > 5, torch::kBool));
      }
    } model(7 + world.rank());
    const DataParallel replica(world, model);
    for (const auto& tensor : model.parameters()) EXPECT_TRUE((tensor == 7).all().item<bool>());
    EXPECT_TRUE((model.named_buffers()["count"] == 7).all().item<bool>());
    EXPECT_TRUE(model.named_buffers()["flag"].item<bool>());
  });
}

TEST(Replicate, BroadcastsMoreThanItsStagingHolds) {
  on_ranks(2, [](World& world) {
    torch::nn::Linear layer(3000, 3000);  // 36 MB
    torch::nn::Linear small(3, 3);
    torch::nn::Sequential both(layer, small);
    {
      torch::NoGradGuard no_grad;
      for (auto& parameter : both->parameters()) parameter.fill_(world.rank() == 0 ? 3 : 4);
    }
    const DataParallel replica(world, *both);
    for (const auto& parameter : both->parameters()) EXPECT_TRUE((parameter == 3).all().item<bool>());
  });
}

/// Makes `model_of(rank)` on each of 3 ranks and returns what DataParallel said on each.
std::vector<std::string> refusals(const std::function<std::shared_ptr<torch::nn::Module>(int rank)>& model_of,
                                  const std::function<DataParallelOptions(int rank)>& options_of = nullptr) {
  std::vector<std::string> texts(3);
  on_ranks(3, [&](World& world) {
    const auto model = model_of(world.rank());
    try {
      const DataParallel replica(world, *model, options_of ? options_of(world.rank()) : DataParallelOptions{});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMismatch);
      EXPECT_EQ(error.rank(), world.rank());
      texts[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  return texts;
}

TEST(Replicate, NamesTheFirstParameterWhoseShapeDiffersOnEveryRank) {
  const auto texts = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"first"}, 2);
    model->register_parameter("second", torch::zeros({3, rank == 2 ? 5 : 4}));
    return model;
  });
  for (const auto& text : texts) {
    EXPECT_THAT(text, HasSubstr("'second' is trainable Float [3, 4] on rank 0 and trainable Float [3, 5] on rank 2"));
  }
}

TEST(Replicate, NamesWhatElseDiffersBetweenRanks) {
  const auto type = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"a"});
    if (rank == 1) model->to(torch::kFloat64);
    return model;
  });
  EXPECT_THAT(type[0], HasSubstr("'a' is trainable Float [4] on rank 0 and trainable Double [4] on rank 1"));

  const auto name = refusals([](int rank) { return std::make_shared<Vectors>(Names{rank == 2 ? "b" : "a"}); });
  EXPECT_THAT(name[1], HasSubstr("rank 0 has 'a' (trainable Float [4]) where rank 2 has 'b'"));

  const auto frozen = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"a", "b"});
    (*model)["b"].set_requires_grad(rank != 1);
    return model;
  });
  EXPECT_THAT(frozen[2], HasSubstr("'b' is trainable Float [4] on rank 0 and fixed Float [4] on rank 1"));

  const auto buffer = refusals([](int rank) {
    auto model = std::make_shared<Vectors>(Names{"a"});
    model->register_buffer("mean", torch::zeros({2 + rank}));
    return model;
  });
  EXPECT_THAT(buffer[0], HasSubstr("'mean' is fixed Float [2] on rank 0 and fixed Float [3] on rank 1"));

  const auto option = refusals([](int) { return std::make_shared<Vectors>(Names{"a"}); },
                               [](int rank) { return DataParallelOptions{.bucket_bytes = rank == 1 ? 100u : 200u}; });
  EXPECT_THAT(option[0], HasSubstr("'option bucket_bytes' is 200 on rank 0 and 100 on rank 1"));
}

}  // namespace
}  // namespace lockstep
