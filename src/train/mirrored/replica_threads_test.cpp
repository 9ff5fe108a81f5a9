#include "train/mirrored/replica_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <torch/torch.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::detail {
namespace {

TEST(ReplicaThreads, RunEachTaskOnceInEachThreadAndWait) {
  ReplicaThreads threads(3, {});
  std::vector<int> calls(3);
  std::vector<std::thread::id> ids(3);
  for (int round = 1; round <= 5; ++round) {
    threads.run([&](World& world) {
      const auto rank = static_cast<std::size_t>(world.rank());
      EXPECT_TRUE(round == 1 || ids[rank] == std::this_thread::get_id()) << "the threads stay";
      ids[rank] = std::this_thread::get_id();
      ++calls[rank];
    });
    EXPECT_EQ(calls, std::vector<int>(3, round));
  }
  EXPECT_EQ((std::set<std::thread::id>(ids.begin(), ids.end()).size()), 3U);
}

TEST(ReplicaThreads, AreTheRanksOfAWorld) {
  ReplicaThreads threads(4, {.computing_threads = 1, .seed = 2});
  threads.run([](World& world) {
    EXPECT_EQ(world.size(), 4);
    EXPECT_EQ(at::get_num_threads(), 1);
    float sum = 1;
    world.all_reduce(buffer_of(&sum, 1), ReduceOp::kSum).wait();
    EXPECT_EQ(sum, 4);
  });
}

TEST(ReplicaThreads, DrawRandomNumbersEachOfItsOwn) {
  ReplicaThreads threads(2, {.computing_threads = 1, .seed = 5});
  std::vector<torch::Tensor> drawn(2);
  threads.run([&](World& world) { drawn[static_cast<std::size_t>(world.rank())] = torch::rand({4}); });
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    torch::manual_seed(5 + i);
    EXPECT_TRUE(torch::equal(drawn[i], torch::rand({4})));
  }
}

TEST(ReplicaThreads, WhatOneThrowsEndsThemAllAndComesOut) {
  ReplicaThreads threads(3, {});
  const auto fail = [&](const char* expected) {
    try {
      threads.run([](World& world) {
        if (world.rank() == 1) throw std::runtime_error("the loss is on fire");
        float value = 0;
        world.all_reduce(buffer_of(&value, 1), ReduceOp::kSum).wait();  // would wait for ever
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), expected);
    }
  };
  fail("the loss is on fire");
  fail("the loss is on fire");  // and again: the world is over
}

}  // namespace
}  // namespace lockstep::detail
