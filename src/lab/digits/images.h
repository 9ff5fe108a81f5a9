#pragma once

#include <lockstep/loader.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::lab {

/// A part of MNIST (LeCun et al. 1998). Not changed by use.
class Images {
 public:
  /// `part` is "train" or "t10k": `<part>-images-idx3-ubyte` and `<part>-labels-idx1-ubyte` in `folder`, with .gz or
  /// without. Throws Error (kInvalidArgument) with the file: what read_idx throws, images that are not 28 x 28, labels
  /// above 9 or of another number.
  Images(const std::filesystem::path& folder, const std::string& part);

  std::int64_t size() const { return labels_.size(0); }
  const torch::Tensor& labels() const { return labels_; }
  /// Those of rank `rank` where `ranks` ranks have data of their own: sorted by label and cut into contiguous shares of
  /// one size (McMahan et al. 2017). Throws Error (kInvalidArgument) where `ranks` does not divide their number.
  Images share_by_label(int rank, int ranks) const;
  /// {samples, 1, 28, 28}, with the mean and deviation of MNIST's training images taken out, and labels {samples}.
  torch::data::Example<> fetch(const std::vector<std::size_t>& indices) const;

 private:
  Images(torch::Tensor pixels, torch::Tensor labels) : pixels_(std::move(pixels)), labels_(std::move(labels)) {}

  torch::Tensor pixels_;  // uint8
  torch::Tensor labels_;  // int64
};

}  // namespace lockstep::lab
