#pragma once

/// MNIST, where LOCKSTEP_TEST_DATA has it, and a network that learns it in seconds.
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "train/test_model.h"

namespace lockstep::test {

/// The bytes of a gzipped idx file after its header.
inline torch::Tensor idx_bytes(const std::filesystem::path& path, std::int64_t header, std::int64_t bytes) {
  auto content = torch::empty({header + bytes}, torch::kUInt8);
  gzFile file = gzopen(path.c_str(), "rb");
  const int read = file ? gzread(file, content.data_ptr(), static_cast<unsigned>(header + bytes)) : -1;
  if (file) gzclose(file);
  if (read != header + bytes) throw std::runtime_error(path.string() + " is shorter than MNIST, or cannot be read");
  return content.narrow(0, header, bytes);
}

struct Digits : torch::data::datasets::Dataset<Digits> {
  Digits(const std::filesystem::path& folder, const std::string& which, std::int64_t count)
      : images((idx_bytes(folder / (which + "-images-idx3-ubyte.gz"), 16, count * 784).to(torch::kFloat32) / 255 -
                0.1307) /
               0.3081),
        labels(idx_bytes(folder / (which + "-labels-idx1-ubyte.gz"), 8, count).to(torch::kInt64)) {
    images = images.view({count, 784});
  }
  torch::data::Example<> get(std::size_t i) override {
    return {images[static_cast<std::int64_t>(i)], labels[static_cast<std::int64_t>(i)]};
  }
  torch::optional<std::size_t> size() const override { return labels.numel(); }
  torch::Tensor images;
  torch::Tensor labels;
};

/// MNIST's folder; empty where it is absent.
inline std::filesystem::path mnist() {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const auto folder = std::filesystem::path(data ? data : "") / "mnist";
  return std::filesystem::exists(folder / "train-images-idx3-ubyte.gz") ? folder : std::filesystem::path();
}

inline torch::nn::Sequential digit_net() {
  return seeded(1, [] {
    return torch::nn::Sequential(torch::nn::Linear(784, 32), torch::nn::ReLU(), torch::nn::Linear(32, 10));
  });
}

/// The share of digits that the network names.
inline double accuracy(torch::nn::Sequential net, const Digits& digits) {
  const torch::NoGradGuard no_grad;
  const auto guesses = net->forward(digits.images).argmax(1);
  return guesses.eq(digits.labels).to(torch::kFloat64).mean().item<double>();
}

}  // namespace lockstep::test
