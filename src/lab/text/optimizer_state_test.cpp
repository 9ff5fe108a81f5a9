#include "lab/text/optimizer_state.h"

#include "lab/text/optimizer.h"
#include "lab/text/tiny_gpt_for_tests.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <sstream>

namespace lockstep::lab {

namespace {

struct Training {
  explicit Training(const GptSize& size) : model(size, 1), optimizer(make_optimizer(*model, 0.1)) {}
  void update(int times) {
    const torch::Tensor inputs = torch::tensor({0, 1, 2, 3}, torch::kInt64).view({1, 4});
    for (int i = 0; i < times; ++i) {
      optimizer.zero_grad();
      model->loss(inputs, inputs + 1).backward();
      optimizer.step();
    }
  }
  Gpt model;
  torch::optim::AdamW optimizer;
};

void carry(const Training& from, Training& to) {
  torch::serialize::OutputArchive written;
  save_state(written, from.optimizer);
  std::stringstream stream;
  written.save_to(stream);
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  load_state(archive, to.optimizer);
}

}  // namespace

TEST(OptimizerState, IsAllThatTheNextUpdatesDependOn) {
  Training first(kTinyGpt), second(kTinyGpt);
  first.update(3);
  {
    const torch::NoGradGuard no_grad;
    const auto from = first.model->parameters(), to = second.model->parameters();
    for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }
  carry(first, second);
  first.update(3);
  second.update(3);
  const auto expected = first.model->parameters(), actual = second.model->parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(torch::equal(expected[i], actual[i])) << i;
}

TEST(OptimizerState, OfAnOptimizerThatNeverUpdatedIsEmpty) {
  Training first(kTinyGpt), second(kTinyGpt);
  second.update(1);
  carry(first, second);
  EXPECT_TRUE(second.optimizer.state().empty());
}

TEST(OptimizerState, OfOtherShapesIsRefused) {
  GptSize wide = kTinyGpt;
  wide.width = 8;
  Training first(kTinyGpt), second(wide);
  first.update(1);
  EXPECT_THROW(carry(first, second), c10::Error);
}

}  // namespace lockstep::lab
