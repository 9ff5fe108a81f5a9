#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "tests/processes/temporary_folder.h"
#include "train/checkpoint/test_training.h"

namespace lockstep {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

/// A module within a module, with parameters and buffers.
struct Outer : torch::nn::Module {
  explicit Outer(double value, std::int64_t width = 3) : inner(register_module("inner", torch::nn::Linear(2, width))) {
    register_buffer("mean", torch::full(4, value));
    for (auto& parameter : parameters()) parameter.data().fill_(value);
  }
  torch::nn::Linear inner;
};

class Exchange : public testing_support::TemporaryFolder {};

TEST_F(Exchange, OneFileHoldsTheModelThatManyRanksSaved) {
  test::on_ranks(3, [&](World& world) {
    test::Training training(world);
    Checkpoints checkpoints(world, folder_);
    checkpoints.save(7, training.state);
    if (world.rank() != 0) return;
    export_safetensors(checkpoints.path(7), folder_ / "model.safetensors");
    const SafetensorsFile file(folder_ / "model.safetensors");
    EXPECT_EQ(file.metadata().at("format"), "pt");
    EXPECT_EQ(file.names().size(), training.net->named_parameters().size());
    for (const auto& parameter : training.net->named_parameters())
      EXPECT_TRUE(torch::equal(file.tensor(parameter.key()), parameter.value())) << parameter.key();
    EXPECT_THAT(error_of([&] { export_safetensors(checkpoints.path(7), folder_ / "x", "nothing."); }),
                HasSubstr("begins with 'nothing.'"));
  });
}

TEST_F(Exchange, ArchivesOfTorchAreRead) {
  const auto saved = std::make_shared<Outer>(3);
  torch::save(saved, (folder_ / "a.pt").string());
  Outer loaded(0);
  const auto tensors = read_torch_archive(folder_ / "a.pt");
  EXPECT_EQ(tensors.size(), 3u);
  load_tensors(loaded, tensors);
  EXPECT_TRUE(torch::equal(loaded.inner->weight, saved->inner->weight));
  EXPECT_TRUE(torch::equal(loaded.named_buffers()["mean"], torch::full(4, 3.)));
  EXPECT_TRUE(loaded.inner->weight.requires_grad());
}

TEST_F(Exchange, WhatIsNoArchiveIsRefused) {
  write_file_atomically(folder_ / "text", "To be, or not to be");
  EXPECT_THAT(error_of([&] { read_torch_archive(folder_ / "text"); }),
              AllOf(HasSubstr("text"), HasSubstr("torch cannot read it")));
  EXPECT_THAT(error_of([&] { read_torch_archive(folder_ / "missing"); }), HasSubstr("No such file"));
  torch::save(std::make_shared<Outer>(3), (folder_ / "a.pt").string());
  const std::string whole = read_file(folder_ / "a.pt");
  write_file_atomically(folder_ / "a.pt", std::string_view(whole).substr(0, whole.size() / 2));
  EXPECT_THAT(error_of([&] { read_torch_archive(folder_ / "a.pt"); }), HasSubstr("cut short"));
}

TEST_F(Exchange, WhatDoesNotFitAModuleChangesNothing) {
  Outer net(5);
  const Outer wide(6, 4);
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto& parameter : wide.named_parameters()) tensors.emplace_back(parameter.key(), parameter.value());
  EXPECT_THAT(error_of([&] { load_tensors(net, tensors); }),
              AllOf(HasSubstr("'inner.weight'"), HasSubstr("[4, 2]"), HasSubstr("[3, 2]")));
  tensors = {{"inner.weight", torch::zeros({3, 2})}, {"inner.bias", torch::zeros(3)}};
  EXPECT_THAT(error_of([&] { load_tensors(net, tensors); }), HasSubstr("'mean', which was not given"));
  tensors.emplace_back("mean", torch::zeros(4));
  tensors.emplace_back("more", torch::zeros(4));
  EXPECT_THAT(error_of([&] { load_tensors(net, tensors); }), HasSubstr("'more' was given"));
  EXPECT_TRUE(torch::equal(net.inner->weight, torch::full({3, 2}, 5.)));
}

}  // namespace
}  // namespace lockstep
