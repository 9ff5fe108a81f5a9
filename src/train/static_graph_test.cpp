// static_graph = true: what the first backward reached is what all of them reach, and one that is not so is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/test_errors.h"
#include "train/test_parity.h"
#include "train/test_recomputed.h"

namespace lockstep {
namespace {

using test::clear_gradients;
using test::on_ranks;
using test::RunsAgain;
using test::thrown_by;
using test::Vectors;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

using Used = std::vector<std::string>;

class StaticGraphOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, StaticGraphOn, ::testing::Values(1, 2, 3, 4));

/// A bucket a parameter, in the order of registration backwards.
DataParallelOptions bucket_each(bool static_graph) {
  return {.first_bucket_bytes = 64, .bucket_bytes = 64, .rebuild_buckets = false, .static_graph = static_graph};
}

TEST_P(StaticGraphOn, BucketsLeaveAsSoonAsThoseAreThereThatAreUsed) {
  for (const bool is_static : {true, false}) {
    on_ranks(GetParam(), [is_static](World& world) {
      Vectors model({"last", "unused", "first"});
      std::vector<bool> after_all;  // by bucket: was the last gradient there when it left?
      auto options = bucket_each(is_static);
      options.communication_hook =
          test::tampering([&](int, torch::Tensor&) { after_all.push_back(model["last"].grad().defined()); })(world);
      const DataParallel replica(world, model, options);
      for (int iteration = 0; iteration < 3; ++iteration) {
        after_all.clear();
        clear_gradients(model);
        model.loss({"last", "first"}, world.rank() + iteration).backward();
        if (!is_static) {
          EXPECT_THAT(after_all, ElementsAre(false, true, true));
        } else if (iteration == 0) {
          EXPECT_THAT(after_all, ElementsAre(true, true, true)) << "nobody knows yet what will come";
        } else {
          EXPECT_THAT(after_all, ElementsAre(false, false, true));
        }
        const double mean = (world.size() - 1) / 2.0 + iteration;
        EXPECT_THAT(model.gradient("last"), Optional(DoubleNear(mean, 1e-6)));
        EXPECT_THAT(model.gradient("first"), Optional(DoubleNear(mean, 1e-6)));
        EXPECT_FALSE(model.gradient("unused").has_value());
        EXPECT_THAT(replica.parameters_without_gradient(), ElementsAre("unused"));
      }
    });
  }
}

TEST_P(StaticGraphOn, EachRankMayUseOtherParameters) {
  on_ranks(GetParam(), [](World& world) {
    Vectors model({"a", "b", "c"});
    const DataParallel replica(world, model, bucket_each(true));
    const double ranks = world.size();
    for (const bool clears : {true, true, false, true}) {  // what stays is the same on all ranks, as in one process
      const double before = clears ? 0 : 1;
      if (clears) clear_gradients(model);
      model.loss(world.rank() == 0 ? Used{"a", "b"} : Used{"b", "c"}, ranks).backward();
      EXPECT_THAT(model.gradient("a"), Optional(DoubleNear(1 + before * 1, 1e-6)));
      EXPECT_THAT(model.gradient("b"), Optional(DoubleNear(ranks + before * ranks, 1e-6)));
      if (world.size() == 1) continue;
      EXPECT_THAT(model.gradient("c"), Optional(DoubleNear((1 + before) * (ranks - 1), 1e-6)));
    }
  });
}

TEST_P(StaticGraphOn, PausedPassesMayReachAnything) {
  on_ranks(GetParam(), [](World& world) {
    Vectors model({"a", "b"});
    DataParallel replica(world, model, bucket_each(true));
    const double mean = (world.size() - 1) / 2.0;
    for (const bool reaches_b : {false, true, false, true}) {
      clear_gradients(model);
      {
        const auto quiet = replica.pause();
        model.loss(reaches_b ? Used{"a", "b"} : Used{"a"}, world.rank()).backward();
      }
      model.loss({"a"}, world.rank()).backward();
      EXPECT_THAT(model.gradient("a"), Optional(DoubleNear(2 * mean, 1e-6)));
      if (reaches_b) {
        EXPECT_THAT(model.gradient("b"), Optional(DoubleNear(mean, 1e-6)));
      } else {
        EXPECT_FALSE(model.gradient("b").has_value());
      }
    }
  });
}

// --- one that differs ---

std::string other_graph(const std::string& parameter, int now, int rank, int first) {
  return "Parameter '" + parameter + "' got " + std::to_string(now) + " gradients in a backward of rank " +
         std::to_string(rank) + " and " + std::to_string(first) +
         " in the first one, like which all are to be with static_graph = true: give losses the same graph in each "
         "iteration, or leave static_graph off.";
}

TEST_P(StaticGraphOn, ABackwardThatReachesOthersOnOneRankIsAnErrorOnAllThatNamesThem) {
  const std::vector<std::pair<Used, std::string>> cases{{{"a"}, other_graph("c", 0, GetParam() - 1, 1)},
                                                        {{"a", "b", "c"}, other_graph("b", 1, GetParam() - 1, 0)},
                                                        {{"b", "c"}, other_graph("a", 0, GetParam() - 1, 1)}};
  for (const auto& [used, sentence] : cases) {
    on_ranks(GetParam(), [&used = used, &sentence = sentence](World& world) {
      Vectors model({"a", "b", "c"});
      const DataParallel replica(world, model, bucket_each(true));
      const Used first{"a", "c"};
      const bool differs = world.rank() == world.size() - 1;
      for (int round = 0; round < 2; ++round) {  // who catches it goes on with what is as the first was
        for (int iteration = 0; iteration < 2; ++iteration) {
          clear_gradients(model);
          model.loss(first, 3).backward();
          EXPECT_THAT(model.gradient("a"), Optional(3.0));
          EXPECT_THAT(model.gradient("c"), Optional(3.0));
          EXPECT_FALSE(model.gradient("b").has_value());
        }
        clear_gradients(model);
        const auto thrown = thrown_by([&] { model.loss(differs ? used : first, 3).backward(); });
        EXPECT_EQ(thrown.code, ErrorCode::kMismatch);
        EXPECT_EQ(thrown.text, sentence);
      }
    });
  }
}

TEST_P(StaticGraphOn, ALayerThatRunsMoreOrLessOftenIsNamedToo) {
  for (const int times : {1, 3}) {
    on_ranks(GetParam(), [times](World& world) {
      RunsAgain net;
      const DataParallel replica(world, net, bucket_each(true));
      const int last = world.size() - 1;
      for (int iteration = 0; iteration < 2; ++iteration) net.forward(torch::ones({1, 2})).sum().backward();
      const auto loss = net.forward(torch::ones({1, 2}), world.rank() == last ? times : 2).sum();
      EXPECT_EQ(thrown_by([&] { loss.backward(); }).text, other_graph("layer.weight", times, last, 2));
    });
  }
}

TEST(StaticGraph, IsTheSameOnAllRanks) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"});
    EXPECT_THAT([&] { DataParallel(world, model, {.static_graph = world.rank() == 1}); },
                ::testing::ThrowsMessage<Error>(HasSubstr("'option static_graph' is off on rank 0 and on on rank 1")));
  });
}

}  // namespace
}  // namespace lockstep
