#include "lab/text/checkpoint.h"

#include "lab/folder_for_tests.h"
#include "lab/refusal_for_tests.h"
#include "lab/text/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/serialize.h>
#include <torch/types.h>

#include <cstdlib>
#include <functional>

namespace lockstep::lab {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CheckpointFile : public FolderTest {
 protected:
  CheckpointFile() {
    path_ = folder_ / "checkpoint.pt";
    settings_.model = {.vocabulary = 5, .layers = 1, .heads = 2, .width = 8, .context = 4, .dropout = 0};
    settings_.seed = 99;
    settings_.data = {"some.txt"};
  }

  void train(Gpt& model, torch::optim::AdamW& optimizer, int iterations) const {
    const torch::Tensor inputs = torch::tensor({0, 1, 2, 3}, torch::kInt64).view({1, 4});
    for (int i = 0; i < iterations; ++i) {
      optimizer.zero_grad();
      model->loss(inputs, inputs + 1).backward();
      optimizer.step();
    }
  }
  void save(std::uint64_t seed = 1) const {
    Gpt model(settings_.model, seed);
    auto optimizer = make_optimizer(*model, 0.1);
    train(model, optimizer, 3);
    save_checkpoint(path_, 3, settings_, vocabulary_, model, optimizer);
  }
  std::string refusal(const std::function<void()>& call) const {
    std::string text = refusal_of(call);
    EXPECT_THAT(text, HasSubstr(path_.string()));
    EXPECT_THAT(text, testing::Not(HasSubstr("\n")));
    return text;
  }
  std::string refusal() const {
    return refusal([&] { Checkpoint checkpoint(path_); });
  }

  fs::path path_;
  TextSettings settings_;
  Vocabulary vocabulary_{TokenKind::kCharacters, "abc\u00e9\n"};
};

TEST_F(CheckpointFile, HoldsAllThatATrainingNeedsToGoOn) {
  Gpt model(settings_.model, 1);
  auto optimizer = make_optimizer(*model, 0.1);
  train(model, optimizer, 3);
  save_checkpoint(path_, 3, settings_, vocabulary_, model, optimizer);
  train(model, optimizer, 3);

  Checkpoint checkpoint(path_);
  EXPECT_EQ(checkpoint.iteration(), 3);
  EXPECT_EQ(checkpoint.settings().seed, 99U);
  EXPECT_EQ(checkpoint.settings().data, settings_.data);
  EXPECT_EQ(checkpoint.settings().model.width, 8);
  EXPECT_EQ(checkpoint.vocabulary().alphabet(), vocabulary_.alphabet());
  Gpt resumed(settings_.model, 2);
  auto resumed_optimizer = make_optimizer(*resumed, 0.1);
  checkpoint.restore(resumed, resumed_optimizer);
  train(resumed, resumed_optimizer, 3);
  const auto expected = model->parameters(), actual = resumed->parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(torch::equal(expected[i], actual[i])) << i;
}

TEST_F(CheckpointFile, IsTheOnlyFileWritten) {
  save();
  save(2);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(CheckpointFile, CutShortIsRefusedWhereverItIsCut) {
  save();
  const std::string whole = read_file(path_);
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    write_file_atomically(path_, std::string_view(whole).substr(0, whole.size() * tenth / 10));
    EXPECT_THAT(refusal(), HasSubstr("cut short")) << tenth << " tenths";
  }
}

TEST_F(CheckpointFile, OfSomethingElseIsRefused) {
  write_file_atomically(path_, "To be, or not to be");
  EXPECT_THAT(refusal(), HasSubstr("no checkpoint"));
  torch::save(torch::zeros(3), path_.string());
  EXPECT_THAT(refusal(), HasSubstr("no checkpoint"));
  fs::remove(path_);
  EXPECT_THAT(refusal(), HasSubstr("No such file"));
  fs::create_directory(path_);
  EXPECT_THAT(refusal(), HasSubstr("directory"));
}

TEST_F(CheckpointFile, OfAnotherSizeIsNotForcedIntoAModel) {
  save();
  for (const auto change : {&GptSize::width, &GptSize::layers, &GptSize::context, &GptSize::vocabulary}) {
    GptSize other = settings_.model;
    other.*change *= 2;
    Gpt model(other, 1);
    auto optimizer = make_optimizer(*model, 0.1);
    EXPECT_THAT(refusal([&] { Checkpoint(path_).restore(model, optimizer); }), HasSubstr("cannot be resumed"));
  }
}

TEST_F(CheckpointFile, ADamagedByteIsNoticed) {
  save();
  const std::string whole = read_file(path_);
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write_file_atomically(path_, damaged);
    EXPECT_THAT(refusal(), HasSubstr("damaged")) << "byte " << at;
  }
}

}  // namespace lockstep::lab
