#pragma once

/// Shakespeare, where LOCKSTEP_TEST_DATA has him, and a network that learns to guess his next letter in seconds.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "train/test_model.h"

namespace lockstep::test {

/// The file of the text; empty where it is absent.
inline std::filesystem::path shakespeare() {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const auto file = std::filesystem::path(data ? data : "") / "tinyshakespeare" / "input.txt";
  return std::filesystem::exists(file) ? file : std::filesystem::path();
}

/// Sixteen letters, and the one that follows: `count` of them, from letter `first` on.
struct Letters : torch::data::datasets::Dataset<Letters> {
  static constexpr std::int64_t kContext = 16;
  static constexpr std::int64_t kKinds = 128;  // ASCII

  Letters(const std::filesystem::path& file, std::int64_t first, std::int64_t count) {
    std::ifstream in(file, std::ios::binary);
    in.seekg(first);
    std::string text(static_cast<std::size_t>(count + kContext), ' ');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    letters = torch::empty({count + kContext}, torch::kInt64);
    for (std::size_t i = 0; i < text.size(); ++i) letters[static_cast<std::int64_t>(i)] = text[i] & 127;
  }
  torch::data::Example<> get(std::size_t i) override {
    const auto at = static_cast<std::int64_t>(i);
    return {letters.narrow(0, at, kContext), letters[at + kContext]};
  }
  torch::optional<std::size_t> size() const override { return letters.numel() - kContext; }
  torch::Tensor letters;
};

inline torch::nn::Sequential letter_net() {
  return seeded(1, [] {
    return torch::nn::Sequential(torch::nn::Embedding(Letters::kKinds, 16), torch::nn::Flatten(),
                                 torch::nn::Linear(16 * Letters::kContext, 64), torch::nn::Tanh(),
                                 torch::nn::Linear(64, Letters::kKinds));
  });
}

/// Nats a letter.
inline double loss_on(torch::nn::Sequential net, const Letters& letters) {
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<std::int64_t>(*letters.size());
  const auto contexts = letters.letters.unfold(0, Letters::kContext, 1).narrow(0, 0, count);
  const auto guesses = net->forward(contexts.contiguous());
  return torch::nn::functional::cross_entropy(guesses, letters.letters.narrow(0, Letters::kContext, count))
      .item<double>();
}

}  // namespace lockstep::test
