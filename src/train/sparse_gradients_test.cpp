// Embeddings with sparse gradients: what is in `.grad`, and the same training as in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "train/test_errors.h"
#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::error_of;
using test::on_ranks;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Words : torch::nn::Module {
  explicit Words(bool sparse = true)
      : table(register_module("table", torch::nn::Embedding(torch::nn::EmbeddingOptions(20, 4).sparse(sparse)))),
        bag(register_module(
            "bag", torch::nn::EmbeddingBag(torch::nn::EmbeddingBagOptions(20, 4).mode(torch::kSum).sparse(sparse)))),
        output(register_module("output", torch::nn::Linear(8, 3))) {}
  torch::Tensor forward(const torch::Tensor& words) {
    return output(torch::cat({table(words).tanh().mean(1), bag(words)}, 1));
  }
  torch::nn::Embedding table;
  torch::nn::EmbeddingBag bag;
  torch::nn::Linear output;
};

/// Sample i is five words, some of which come twice, and a class.
class Texts : public torch::data::datasets::Dataset<Texts> {
 public:
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    const auto words = (torch::arange(5) * (i % 4 + 1) + i * i) % 20;
    return {words, torch::tensor(i * 7 % 3)};
  }
  torch::optional<std::size_t> size() const override { return 45; }
};

using Tamper = std::function<void(int rank, Words& words)>;

/// Two epochs, accumulating over two batches if so; `tamper` comes between backward and the optimizer's step.
torch::Tensor train(const test::Side& side, bool accumulate, const Tamper& tamper) {
  const auto model = test::seeded(side.seed, [] { return std::make_shared<Words>(); });
  auto replica = side.replicate(*model);
  const auto start = test::flat_parameters(*model);
  torch::optim::SGD optimizer(model->parameters(), 0.5);
  const auto loader = make_loader(Texts(), side.group, test::spots_options());
  int done = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : loader->epoch()) {
      const auto loss = torch::nn::functional::cross_entropy(model->forward(batch.data), batch.target);
      if (accumulate && ++done % 2 != 0) {
        optimizer.zero_grad();
        if (replica) {
          const auto quiet = replica->pause();
          loss.backward();
        } else {
          loss.backward();
        }
        continue;
      }
      if (!accumulate) optimizer.zero_grad();
      loss.backward();
      if (replica && tamper) tamper(side.group.rank(), *model);
      optimizer.step();
    }
  }
  return test::flat_parameters(*model) - start;
}

test::Parity parity(int ranks, bool accumulate = false, const Tamper& tamper = nullptr) {
  return test::parity_of([&](const test::Side& side) { return train(side, accumulate, tamper); }, ranks);
}

class SparseOn : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SparseOn, testing::Values(1, 2, 3, 4));

TEST_P(SparseOn, SameTrainingAsOneProcess) {
  const auto result = parity(GetParam());
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(SparseOn, SameWhenAccumulating) {
  const auto result = parity(GetParam(), true);
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST(Sparse, FailsWhenARankKeepsHalfOfItsRows) {
  for (const bool accumulate : {false, true}) {
    const auto result = parity(2, accumulate, [](int rank, Words& words) {
      if (rank == 0) words.table->weight.mutable_grad() = words.table->weight.grad() * 0.5;
    });
    EXPECT_GT(result.difference, 100 * test::kParityTolerance) << accumulate;
    EXPECT_FALSE(result.bits_equal) << accumulate;
  }
}

TEST(Sparse, RowsOfAllRanksMeet) {
  on_ranks(3, [](World& world) {
    Words model;
    DataParallel replica(world, model);
    // Rank r asks for rows r and r + 1; rank 2 for none of the table.
    if (world.rank() < 2) {
      model.table(torch::tensor({world.rank(), world.rank() + 1})).sum().backward();
    } else {
      (model.output->bias.sum() * 0 + model.bag(torch::zeros({1, 1}, torch::kInt64)).sum()).backward();
    }
    const auto& gradient = model.table->weight.grad();
    ASSERT_TRUE(gradient.is_sparse());
    EXPECT_TRUE(gradient.is_coalesced());
    EXPECT_TRUE(torch::equal(gradient._indices(), torch::tensor({{0, 1, 2}})));
    EXPECT_TRUE(torch::allclose(gradient._values(), torch::tensor({1.0, 2.0, 1.0}).div(3).unsqueeze(1).expand({3, 4})));
    EXPECT_THAT(replica.parameters_without_gradient(), ElementsAre("output.weight"));
  });
}

TEST(Sparse, UnreachedStayWithoutGradient) {
  on_ranks(2, [](World& world) {
    Words model;
    const DataParallel replica(world, model);
    model.output(torch::ones({1, 8})).sum().backward();
    EXPECT_FALSE(model.table->weight.grad().defined());
    EXPECT_THAT(replica.parameters_without_gradient(), ElementsAre("table.weight", "bag.weight"));
  });
}

TEST(Sparse, AModelMayHaveNothingElse) {
  on_ranks(2, [](World& world) {
    torch::nn::Embedding table(torch::nn::EmbeddingOptions(4, 2).sparse(true));
    const DataParallel replica(world, *table);
    table(torch::tensor({world.rank()})).sum().backward();
    EXPECT_TRUE(torch::equal(table->weight.grad().to_dense().select(1, 0), torch::tensor({0.5, 0.5, 0.0, 0.0})));
    EXPECT_GT(replica.report().bytes, 0U);
  });
}

TEST(Sparse, ItsNormCountsAndIsClipped) {
  on_ranks(2, [](World& world) {
    Words model;
    DataParallel replica(world, model);
    model.table(torch::tensor({world.rank()})).sum().backward();  // two rows of four halves
    EXPECT_NEAR(replica.clip_grad_norm(1), std::sqrt(2.0), 1e-6);
    EXPECT_NEAR(model.table->weight.grad().to_dense().norm().item<double>(), 1, 1e-6);
  });
}

TEST(Sparse, NonFiniteRowsAreFoundAndSkipped) {
  on_ranks(2, [](World& world) {
    Words model;
    const DataParallel replica(world, model, {.non_finite = NonFinite::kSkip});
    const double factor = world.rank() == 1 ? std::numeric_limits<double>::infinity() : 1;
    (model.table(torch::tensor({3})).sum() * factor + model.output->bias.sum()).backward();
    ASSERT_EQ(replica.report().non_finite.size(), 1U);
    EXPECT_EQ(replica.report().non_finite[0].parameter, "table.weight");
    EXPECT_EQ(replica.report().non_finite[0].rank, 1);
    EXPECT_FALSE(model.table->weight.grad().defined());
    EXPECT_FALSE(model.output->bias.grad().defined());
  });
}

TEST(Sparse, OfAListItsParametersAreNamed) {
  on_ranks(2, [](World& world) {
    auto weight = torch::zeros({4, 2}, torch::requires_grad());
    const auto look_up = [&] {
      torch::embedding(weight, torch::tensor({world.rank()}), -1, false, true).sum().backward();
    };
    {
      const DataParallel replica(world, NamedTensors{{"words", weight}}, {.sparse_parameters = {"words"}});
      look_up();
      EXPECT_EQ(weight.grad()._nnz(), 2);
    }
    weight.mutable_grad() = torch::Tensor();
    const DataParallel unaware(world, NamedTensors{{"words", weight}});
    EXPECT_THAT(error_of(look_up), HasSubstr("'words' has a sparse gradient"));
    EXPECT_THAT(error_of([&] {
                  DataParallel(world, {{"words", weight}}, {.sparse_parameters = {"verbs"}});
                }),
                HasSubstr("sparse_parameters names 'verbs', which is no parameter"));
  });
}

TEST(Sparse, ADenseGradientIsRefused) {
  on_ranks(2, [](World& world) {
    Words model;
    const DataParallel replica(world, model);
    EXPECT_THAT(error_of([&] { model.table->weight.sum().backward(); }),
                HasSubstr("'table.weight' was to have sparse gradients"));
  });
}

}  // namespace
}  // namespace lockstep
