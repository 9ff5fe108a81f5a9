#include "train/mirrored/thread_generator.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::detail {
namespace {

/// Everything that a training draws.
torch::Tensor draw() {
  torch::nn::Dropout dropout(0.5);
  torch::nn::Linear linear(3, 5);
  return torch::cat({torch::rand({4}), torch::randn({4}), torch::randperm(7).to(torch::kFloat32),
                     torch::bernoulli(torch::full({9}, 0.3)), torch::normal(0, 2, {3}),
                     torch::randint(0, 100, {5}).to(torch::kFloat32), dropout(torch::ones({20})),
                     torch::multinomial(torch::ones({6}), 3).to(torch::kFloat32), linear->weight.detach().flatten(),
                     torch::empty({3}).uniform_(-1, 1), torch::rand_like(torch::zeros({2}))});
}

torch::Tensor drawn_by_a_process(std::uint64_t seed) {
  torch::manual_seed(seed);
  return draw();
}

torch::Tensor in_thread(const std::function<torch::Tensor()>& f) {
  torch::Tensor result;
  std::thread([&] { result = f(); }).join();
  return result;
}

TEST(ThreadGenerator, DrawsAsAProcessWithThatSeed) {
  const auto expected = drawn_by_a_process(9);
  EXPECT_FALSE(torch::equal(drawn_by_a_process(10), expected));
  EXPECT_TRUE(torch::equal(in_thread([] {
                             const ThreadGenerator generator(9);
                             return draw();
                           }),
                           expected));
}

TEST(ThreadGenerator, ThreadsAtOnceDoNotDisturbEachOther) {
  constexpr std::size_t kThreads = 4;
  constexpr int kRounds = 50;
  const auto draw_often = [] {
    std::vector<torch::Tensor> drawn;
    for (int round = 0; round < kRounds; ++round) drawn.push_back(draw());
    return torch::cat(drawn);
  };
  std::vector<torch::Tensor> results(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const ThreadGenerator generator(i);
      results[i] = draw_often();
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < kThreads; ++i) {
    torch::manual_seed(i);
    EXPECT_TRUE(torch::equal(results[i], draw_often())) << "thread " << i;
  }
}

TEST(ThreadGenerator, LeavesTheDefaultGeneratorAlone) {
  torch::manual_seed(4);
  const auto expected = torch::rand({8});
  torch::manual_seed(4);
  {
    const ThreadGenerator generator(1);
    torch::rand({100});
  }
  EXPECT_TRUE(torch::equal(torch::rand({8}), expected)) << "after it, this thread draws from the default one again";
}

TEST(ThreadGenerator, AGeneratorThatIsGivenIsUsed) {
  auto given = at::detail::createCPUGenerator(3);
  const auto expected = torch::rand({5}, given);
  given.set_current_seed(3);
  const ThreadGenerator generator(1);
  EXPECT_TRUE(torch::equal(torch::rand({5}, given), expected));
}

TEST(ThreadGenerator, ReachesBackward) {
  // Recomputing in backward, as activation checkpointing does, draws in the thread that called backward().
  struct Recompute : torch::autograd::Function<Recompute> {
    static torch::Tensor forward(torch::autograd::AutogradContext* /*context*/, const torch::Tensor& x) {
      return x * 1;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*context*/,
                                                   const torch::autograd::variable_list& gradients) {
      return {gradients[0] * torch::rand({3})};
    }
  };
  const auto gradient = [] {
    auto x = torch::ones({3}, torch::requires_grad());
    Recompute::apply(x).sum().backward();
    return x.grad();
  };
  torch::manual_seed(6);
  const auto expected = gradient();
  const ThreadGenerator generator(6);
  EXPECT_TRUE(torch::equal(gradient(), expected));
}

}  // namespace
}  // namespace lockstep::detail
