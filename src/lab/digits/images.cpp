#include "lab/digits/images.h"

#include "lab/digits/idx_file.h"
#include "lab/input_file.h"

#include <fmt/format.h>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 28;

fs::path find(const fs::path& folder, const std::string& name) {
  const fs::path packed = folder / (name + ".gz");
  return fs::exists(packed) ? packed : folder / name;
}

}  // namespace

Images::Images(const fs::path& folder, const std::string& part) {
  const InputFile images(find(folder, part + "-images-idx3-ubyte")), labels(find(folder, part + "-labels-idx1-ubyte"));
  pixels_ = read_idx(images.path(), 3);
  if (pixels_.size(1) != kSide || pixels_.size(2) != kSide) {
    images.refuse(fmt::format("its images are {} x {}; it takes 28 x 28.", pixels_.size(1), pixels_.size(2)));
  }
  labels_ = read_idx(labels.path(), 1).to(torch::kInt64);
  if (labels_.size(0) != pixels_.size(0)) {
    labels.refuse(fmt::format("it has {} labels for {} images.", labels_.size(0), pixels_.size(0)));
  }
  if (labels_.max().item<std::int64_t>() > 9) {
    labels.refuse(fmt::format("it has a label {}; digits are 0 to 9.", labels_.max().item<std::int64_t>()));
  }
}

torch::data::Example<> Images::fetch(const std::vector<std::size_t>& indices) const {
  constexpr double kMean = 0.1307, kDeviation = 0.3081;  // of the training part, as 0 to 1
  const std::vector<std::int64_t> rows(indices.begin(), indices.end());
  const torch::Tensor chosen = torch::tensor(rows, torch::kInt64);
  const torch::Tensor pixels = pixels_.index_select(0, chosen).unsqueeze(1).to(torch::kFloat32);
  return {(pixels / 255 - kMean) / kDeviation, labels_.index_select(0, chosen)};
}

}  // namespace lockstep::lab
